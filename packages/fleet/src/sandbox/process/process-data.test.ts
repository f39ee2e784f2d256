import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../../foundation/src/platform/index.ts'
import { readProcessData } from './process-data.ts'
import { patient } from '../../../../../tests/support/patience.ts'

/** The state letter in `/proc`: `T` for a stopped process. */
async function stateOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2)[0] ?? ''
}

test('a stopped process group continues if the reader of its data is killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-read-'))
  const worker = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
  const group = worker.pid ?? 0
  try {
    await mkdir(join(folder, 'data'))
    // More than a pipe buffers, so that the reader is in the middle of it.
    await writeFile(join(folder, 'data', 'much'), Buffer.alloc(4 * 1024 * 1024))
    const program = `
      const { readProcessData } = await import(${JSON.stringify(join(import.meta.dirname, 'process-data.ts'))})
      const clock = { now: () => 0, sleep: (_ms, signal) => new Promise((_, no) => signal.addEventListener('abort', no)) }
      const data = await readProcessData(${JSON.stringify(folder)}, { group: ${group}, clock })
      for await (const _ of data.tar) { console.log('reads'); await new Promise(() => setInterval(() => {}, 1000)) }`
    const reader = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(reader, 'exit')
    try {
      await once(reader.stdout, 'data')
      // On a busy machine a process stops only when it is scheduled.
      await expect.poll(() => stateOf(group), { timeout: patient(20_000) }).toBe('T')
    } finally {
      reader.kill('SIGKILL')
      await ended
    }
    await expect.poll(() => stateOf(group), { timeout: patient(20_000) }).not.toBe('T')
  } finally {
    worker.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
})

test('a folder with a symbolic link in its place is refused, so nothing behind the link is read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-link-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'elsewhere'))
  await symlink('elsewhere', join(folder, 'data'))
  await expect(readProcessData(folder, { group: null, clock: systemClock })).rejects.toMatchObject({
    id: 'data-unread',
  })
})
