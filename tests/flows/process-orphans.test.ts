import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { expect, onTestFinished, test } from 'vitest'
import { aCassette } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { openMesh, pinnedNode, repositoryRoot, startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { openRuntime, starterAgent, starterSpec } from '../support/process-starter.ts'
import { workersIn } from '../support/workers-in.ts'
import { patient } from '../support/patience.ts'

/** Records itself in its data folder, and reports whether another recorded process still runs. */
const agentProgram = String.raw`
const fs = require('node:fs')
const book = process.env.FLOTILLA_DATA + '/lives'
const livesIn = (pid) => { try { return fs.readFileSync('/proc/' + pid + '/environ', 'utf8').includes('FLOTILLA_DATA=' + process.env.FLOTILLA_DATA + '\0') } catch { return false } }
const others = fs.existsSync(book) ? fs.readFileSync(book, 'utf8').split('\n').filter(Boolean) : []
if (others.some(livesIn)) fs.writeFileSync(process.env.FLOTILLA_DATA + '/shared', others.join())
fs.appendFileSync(book, process.pid + '\n')
require('node:http').createServer((_, reply) => reply.end('ok')).listen(Number(process.env.FLOTILLA_PORT), '127.0.0.1')
`

const isSoak = process.env['FLOTILLA_SOAK'] === '1'
const preload = join(repositoryRoot, 'tests', 'support', 'kill-at-step.mjs')

interface Place {
  readonly root: string
  readonly entry: string
  readonly data: string
  readonly steps: string
}

function aPlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'orphans-'))
  const root = join(folder, 'agents')
  mkdirSync(root)
  writeFileSync(join(folder, 'agent.cjs'), agentProgram)
  const data = join(root, Buffer.from(starterAgent).toString('hex'), 'data')
  onTestFinished(() => {
    for (const pid of workersIn(data)) process.kill(pid, 'SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return { root, entry: join(folder, 'agent.cjs'), data, steps: join(folder, 'steps') }
}

/** Runs the minimal mesh until it ends or kills itself at the given step. */
function runStarter(place: Place, killAt: string): Promise<NodeJS.Signals | number | null> {
  const starter = join(repositoryRoot, 'tests', 'support', 'process-starter.ts')
  const child = spawn(pinnedNode, ['--import', preload, starter, place.root, place.entry], {
    env: {
      PATH: '/usr/bin:/bin',
      KILL_AT: killAt,
      STEPS_LIST: place.steps,
      STEPS_IN: place.root,
      // The first process, which is not killed, leaves its compile cache to the others.
      NODE_COMPILE_CACHE: join(tmpdir(), 'starter-compiled'),
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(signal ?? code))
  })
}

const stepsOf = (place: Place) => readFileSync(place.steps, 'utf8').split('\n').filter(Boolean)

/** Acts as the mesh after a killed one: adopts or ends processes, starts the agent, and stops it in the end. */
async function liveOn(place: Place, moment: string): Promise<void> {
  const runtime = openRuntime(place.root, place.entry)
  try {
    await runtime.prepare({ progress: () => {} })
    const { address } = await runtime.start(starterSpec('next'))
    await eventually('the agent answers', () =>
      fetch(`http://127.0.0.1:${address?.port}/`).then(
        (reply) => reply.ok,
        () => false,
      ),
    )
    // A shell and the agent that it started.
    expect(workersIn(place.data).length, moment).toBe(2)
    await runtime.stop(starterAgent, { graceMs: 5_000 })
    expect(workersIn(place.data), moment).toEqual([])
  } finally {
    await runtime.close()
  }
  expect(existsSync(join(place.data, 'shared')), moment).toBe(false)
}

test(
  'a mesh that is killed before or after any step of starting and stopping an agent leaves none beside its successor',
  async () => {
    const whole = aPlace()
    expect(await runStarter(whole, '')).toBe(0)
    expect(workersIn(whole.data)).toEqual([])
    const steps = stepsOf(whole)
    expect(steps.filter((step) => step === 'spawn')).toHaveLength(2)
    const moments = steps.flatMap((step, number) =>
      ['before', 'after'].map((when) => ({ step, number, moment: `${when} ${number}` })),
    )
    // Every thirteenth step, which alternates between both kinds.
    const share = isSoak ? 1 : 13
    const chosen = moments.filter((_, index) => index % share === 0)
    const lane = async () => {
      for (let next = chosen.shift(); next !== undefined; next = chosen.shift()) {
        const where = `${next.moment} (${next.step})`
        const place = aPlace()
        const end = await runStarter(place, next.moment)
        // The number of health checks differs between processes: one may end before this step.
        if (end === 0) expect(stepsOf(place).length, where).toBeLessThanOrEqual(next.number)
        else expect(end, where).toBe('SIGKILL')
        if (end === 'SIGKILL') killed += 1
        await liveOn(place, where)
      }
    }
    const all = chosen.length
    let killed = 0
    await Promise.all([lane(), lane(), lane()])
    expect(killed).toBeGreaterThan(all / 2)
  },
  patient(300_000),
)

test('an agent whose start is interrupted right after its process began ends by itself, over many meshes', async () => {
  const whole = aPlace()
  await runStarter(whole, '')
  const first = stepsOf(whole).indexOf('spawn')
  const place = aPlace()
  for (const moment of [`after ${first}`, `after ${first}`, `after ${first}`]) {
    expect(await runStarter(place, moment)).toBe('SIGKILL')
  }
  await eventually('nothing works on the folder', () => workersIn(place.data).length === 0)
  expect(existsSync(join(place.data, 'lives'))).toBe(false)
})

test(
  'a real mesh that is killed around the start of its operator has one operator in its next life, and none when it is stopped',
  async () => {
    const first = await startMeshForTest({ cassettes: { orphans: aCassette() } })
    const { home } = first
    const data = first.dataOf('operator')
    await first.terminate()
    expect(workersIn(data)).toEqual([])

    const steps = join(home, 'steps')
    const liveWith = async (killAt: string): Promise<string[]> => {
      rmSync(steps, { force: true })
      const environment = {
        NODE_OPTIONS: `--import ${preload}`,
        KILL_AT: killAt,
        STEPS_LIST: steps,
        STEPS_IN: join('data', 'agents'),
      }
      const mesh = openMesh(home, { environment })
      // The mesh may be killed before it reports that it is ready, or shortly after.
      await mesh.restart().catch(() => undefined)
      if (killAt === '') await operatorReady(mesh)
      else await eventually('the mesh is killed', () => !existsSync(`/proc/${mesh.pid}`))
      if (killAt === '') await mesh.terminate()
      return readFileSync(steps, 'utf8').split('\n').filter(Boolean)
    }
    const all = await liveWith('')
    const [spawned, told] = [all.indexOf('spawn'), all.indexOf('stdin.end')]
    expect(told).toBeGreaterThan(spawned)
    const between = isSoak ? Array.from({ length: told - spawned - 1 }, (_, n) => spawned + 1 + n) : []
    for (const number of [spawned, ...between, told]) await liveWith(`after ${number}`)

    const last = openMesh(home)
    await last.restart()
    await operatorReady(last)
    expect(workersIn(data)).toHaveLength(2)
    expect(await flotilla({ home }, 'stop')).toMatchObject({ code: 0 })
    expect(workersIn(data)).toEqual([])
  },
  patient(300_000),
)

async function operatorReady(mesh: MeshProcess): Promise<void> {
  await eventually('the operator is ready', async () => {
    const fleet = meshHumanApi.status.response.parse((await mesh.call(meshHumanEndpoints.status)).json())
    return fleet.agents.some(({ id, state }) => id === 'operator' && state === 'running')
  })
}
