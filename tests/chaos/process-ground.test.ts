import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { processGround } from './process-ground.ts'

/** Creates a home with one agent, and a function that starts programs which look like that agent in `/proc`. */
function aHome(entry = join('agent', 'src', 'main.ts')) {
  const home = mkdtempSync(join(tmpdir(), 'ground-'))
  const folder = join(home, 'data', 'agents', Buffer.from('left').toString('hex'))
  const program = join(home, entry)
  mkdirSync(join(folder, 'data'), { recursive: true })
  mkdirSync(dirname(program), { recursive: true })
  writeFileSync(program, 'console.log("up"); setInterval(() => {}, 1000)')
  return {
    ground: processGround(home),
    async start(): Promise<number> {
      const child = spawn(process.execPath, [program], {
        detached: true,
        cwd: join(folder, 'data'),
        env: { FLOTILLA_DATA: join(folder, 'data') },
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const ended = once(child, 'exit')
      onTestFinished(async () => {
        child.kill('SIGKILL')
        await ended
      })
      await once(child.stdout, 'data')
      return child.pid ?? 0
    },
    record: (pid: number) => writeFileSync(join(folder, 'sandbox.json'), JSON.stringify({ pid })),
    note: (lines: string) => writeFileSync(join(folder, 'data', 'effects'), lines),
  }
}

test.each([
  ['its sources', join('agent', 'src', 'main.ts')],
  ['its build', join('programs', 'agent-0123456789abcdef', 'agent.cjs')],
])('an agent of %s beside its successor on one data folder is found', async (_, entry) => {
  const home = aHome(entry)
  const orphan = await home.start()
  const successor = await home.start()
  home.record(successor)
  expect(await home.ground.agents()).toEqual(['left'])
  const found = await home.ground.strangers()
  expect(found.map(({ check }) => check)).toEqual(['orphan', 'two-on-one-folder'])
  expect(found[0]?.what).toContain(`process ${orphan}`)
  expect(found[1]?.what).toContain(String(successor))
})

test('what lives after a stop is found, and killed by its name it is gone', async () => {
  const home = aHome()
  home.record(await home.start())
  expect(await home.ground.strangers()).toEqual([])
  expect((await home.ground.afterStop()).map(({ check }) => check)).toEqual(['after-stop'])
  expect(await home.ground.kill('left')).toBe(true)
  await expect.poll(() => home.ground.afterStop()).toEqual([])
  expect(await home.ground.kill('left')).toBe(false)
})

test('commands are counted by the lines that they left', async () => {
  const home = aHome()
  home.note('c1.0.1\nc1.0.1\n')
  expect((await home.ground.commandEffects()).map(({ where }) => where)).toEqual([
    'line 1 on the disk of left',
    'line 2 on the disk of left',
  ])
})
