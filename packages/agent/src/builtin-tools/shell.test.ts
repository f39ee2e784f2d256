import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { createDataFiles } from '../files/data-files.ts'
import { systemClock } from '../system-clock.ts'
import { noMesh } from '../testing/loop-parts.ts'
import { shellTools } from './shell.ts'

function aShell(variables: Record<string, string> = {}) {
  const data = realpathSync(mkdtempSync(join(tmpdir(), 'shell-')))
  mkdirSync(join(data, 'sub'))
  const environment = { PATH: process.env['PATH'] ?? '', OPENAI_API_KEY: 'program-token', ...variables }
  const [tool] = shellTools({ files: createDataFiles(data), environment, clock: systemClock })
  const run = async (input: Record<string, string | number>, signal = new AbortController().signal) =>
    tool!.run(input, { mesh: noMesh, idempotencyKey: 'k', taskId: null, signal }) // there is one tool
  return { data, run }
}

/** True while a process with that id exists and is not a zombie. */
function lives(pid: string): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

describe('run_command', () => {
  test('run_command runs in the data directory, or below it', async () => {
    const { data, run } = aShell()
    expect(await run({ command: 'pwd' })).toEqual({ output: `exit code 0\n${data}\n`, ok: true })
    expect(await run({ command: 'pwd', workdir: '/data/sub' })).toMatchObject({
      output: `exit code 0\n${data}/sub\n`,
    })
    await expect(run({ command: 'pwd', workdir: '../' })).rejects.toMatchObject({ code: 'path-refused' })
  })

  test('a program sees the program environment and nothing else', async () => {
    const { output } = await aShell().run({ command: 'env | grep -v -e ^PWD -e ^SHLVL -e ^_ -e ^PATH' })
    expect(output).toBe('exit code 0\nOPENAI_API_KEY=program-token\n')
  })

  test('a program, and what it starts, weighs as much as its agent, or less where the place of the agent asks for that', async () => {
    // These tests may themselves run with a niceness.
    const own = getPriority()
    expect((await aShell().run({ command: 'nice; bash -c nice' })).output).toBe(
      `exit code 0\n${own}\n${own}\n`,
    )
    const asked = aShell({ PROGRAM_NICENESS: '19' })
    expect((await asked.run({ command: 'nice; bash -c nice' })).output).toBe('exit code 0\n19\n19\n')
  })

  test('both outputs and the exit code are reported', async () => {
    const answer = await aShell().run({ command: 'echo out; echo err >&2; exit 3' })
    expect(answer.ok).toBe(false)
    expect(answer.output).toMatch(/^exit code 3\n/)
    expect(answer.output).toContain('out\n')
    expect(answer.output).toContain('err\n')
  })

  test('of a long output the beginning and the end are kept', async () => {
    const { output } = await aShell().run({
      command: 'echo first; head -c 300000 /dev/zero | tr "\\0" x; echo; echo last',
    })
    expect(String(output).length).toBeLessThan(50_200)
    expect(output).toMatch(/^exit code 0\nfirst\n/)
    expect(output).toMatch(/characters omitted/)
    expect(output).toMatch(/last\n$/)
  })

  test('when time is up the whole group is killed', async () => {
    const { data, run } = aShell()
    const command = 'trap "" TERM; sleep 100 & echo $! > child; echo $$ > self; wait; sleep 100'
    const answer = await run({ command, timeout_s: 1 })
    expect(answer).toMatchObject({ ok: false, output: expect.stringContaining('timeout') as string })
    expect(lives(readFileSync(join(data, 'self'), 'utf8').trim())).toBe(false)
    // After the shell has exited, init adopts the child; it has ended when init has reaped it.
    const child = readFileSync(join(data, 'child'), 'utf8').trim()
    await expect.poll(() => lives(child)).toBe(false)
  })

  test('an abort kills it too and is not an answer', async () => {
    const { data, run } = aShell()
    const controller = new AbortController()
    const running = run({ command: 'echo $$ > self; sleep 100' }, controller.signal)
    const self = join(data, 'self')
    await expect.poll(() => existsSync(self) && readFileSync(self, 'utf8').endsWith('\n')).toBe(true)
    controller.abort(new Problem('cancelled'))
    await expect(running).rejects.toMatchObject({ code: 'cancelled' })
    expect(lives(readFileSync(self, 'utf8').trim())).toBe(false)
  })

  test('a program left in the background does not hold the call up', async () => {
    const { data, run } = aShell()
    const { output } = await run({
      command: 'sleep 20 & echo started; echo $! > pid',
      timeout_s: 15,
    })
    expect(output).toBe('exit code 0\nstarted\n')
    expect(lives(readFileSync(join(data, 'pid'), 'utf8').trim())).toBe(true)
  })
})
