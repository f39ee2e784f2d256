import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'

const timeMs = 1_000

/** A process that ends after `timeMs` unless it extends that time, and does `work` meanwhile. */
function aProcess(work: string) {
  const program = `
import { uptime } from 'node:os'
import { startEndThread } from ${JSON.stringify(join(import.meta.dirname, 'end-thread.ts'))}
const end = await startEndThread()
const more = () => end.extend(uptime() * 1_000 + ${timeMs})
more()
console.log('told')
${work}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { child, ended, next: async () => (await lines.next()).value }
}

test('the end thread ends a process whose main thread is blocked', async () => {
  const { ended, next } = aProcess('for (;;);')
  expect(await next()).toBe('told')
  expect(await ended).toEqual([null, 'SIGKILL'])
})

test('the end thread ends one that was halted beyond its time as soon as it wakes up', async () => {
  const { child, ended, next } = aProcess('setInterval(() => undefined, 1_000)')
  expect(await next()).toBe('told')
  child.kill('SIGSTOP')
  const untilMs = uptime() * 1_000 + timeMs
  while (uptime() * 1_000 < untilMs) await new Promise((resolve) => setTimeout(resolve, 100))
  child.kill('SIGCONT')
  expect(await ended).toEqual([null, 'SIGKILL'])
})

test('the end thread does not end a process that extends its time or stops the thread', async () => {
  const { ended, next } = aProcess(`
const startMs = uptime() * 1_000
while (uptime() * 1_000 < startMs + ${timeMs * 2}) {
  await new Promise((resolve) => setTimeout(resolve, 100))
  more()
}
await end.stop()
await new Promise((resolve) => setTimeout(resolve, ${timeMs * 1.5}))
console.log('lives')`)
  expect(await next()).toBe('told')
  expect(await next()).toBe('lives')
  expect(await ended).toEqual([0, null])
})
