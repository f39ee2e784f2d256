import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readAllRecords } from '../../packages/fleet/src/sandbox/process/process-record.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { pinnedNode } from '../support/mesh-process.ts'
import { heldPort } from '../support/held-port.ts'
import { cliProgram } from '../support/programs.ts'

/** The signal by which Node opens its inspector, as a bit of the kernel's masks. */
const inspectorBit = 1n << 9n

async function signalMask(pid: number, name: string): Promise<bigint> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return BigInt(`0x${new RegExp(`^${name}:\\s+(\\w+)`, 'm').exec(status)?.[1] ?? '0'}`)
}
const holdsBack = async (pid: number) => ((await signalMask(pid, 'ShdPnd')) & inspectorBit) !== 0n

describe('a program of the owner’s own user', () => {
  let home: string
  let meshPid = 0
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'flotilla-inspector-'))
    for (const folder of ['config', 'cassettes']) await mkdir(join(home, folder))
    await writeFile(join(home, 'config', 'settings.json'), '{"default_model":"scripted/day"}')
    const cassette = aCassette({ when: '.', turns: [says('Yes.')] })
    await writeFile(join(home, 'cassettes', 'day.json'), JSON.stringify(cassette))
    // Inspector settings in the shell's environment have no effect.
    const words = ['start', '-d', '--runtime', 'process', '--port', String(await heldPort()), '--json']
    const path = process.env['PATH'] ?? ''
    const started = spawn(pinnedNode, [cliProgram, ...words], {
      env: { PATH: path, HOME: home, FLOTILLA_HOME: home, NODE_OPTIONS: '--no-disable-sigusr1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const said = await text(started.stdout)
    meshPid = Number(/"pid":\s*(\d+)/.exec(said)?.[1])
    if (!(meshPid > 0)) throw new Error(said)
  })
  afterAll(async () => {
    await flotilla({ home }, 'stop')
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  })

  it('a program of the owner’s own user opens an inspector in a Node that was started without a word about it', async () => {
    const program = 'setInterval(() => {}, 1000); console.log("up")'
    const plain = spawn(pinnedNode, ['-e', program], { stdio: ['ignore', 'pipe', 'pipe'] })
    await new Promise((resolve) => plain.stdout.once('data', resolve))
    const { pid = 0 } = plain
    process.kill(pid, 'SIGUSR1')
    // The text differs where the usual port is in use.
    const said = await new Promise<string>((resolve) =>
      plain.stderr.once('data', (piece: Buffer) => resolve(piece.toString())),
    )
    plain.kill('SIGKILL')
    expect(said).toMatch(/Debugger listening|[Ii]nspector/)
  })

  it('a program of the owner’s own user opens none in the mesh or an agent that the command line started', async () => {
    const agent = await eventually('the operator runs', async () => {
      const [record] = await readAllRecords(join(home, 'data', 'agents'))
      const path = `/proc/${record?.pid}/task/${record?.pid}/children`
      const [child] = (await readFile(path, 'utf8').catch(() => '')).trim().split(' ')
      // Never 0: a signal to 0 would reach all processes of the test run.
      return Number(child) > 0 ? Number(child) : null
    })
    for (const pid of [meshPid, agent]) {
      process.kill(pid, 'SIGUSR1')
      // The signal stays pending: no thread of the process accepts it.
      await eventually('the signal is held back', () => holdsBack(pid))
    }
    expect((await flotilla({ home }, 'status')).code).toBe(0)
    for (const pid of [meshPid, agent]) expect(await holdsBack(pid)).toBe(true)
  })
})
