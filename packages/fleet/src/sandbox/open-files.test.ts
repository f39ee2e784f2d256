import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from './run-command.ts'

const module = (name: string): string => JSON.stringify(join(import.meta.dirname, name))

/** What each call returns in a process that can open no further file, as text. */
async function atTheLimit(calls: Readonly<Record<string, string>>): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-files-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const program = join(folder, 'program.mjs')
  await writeFile(
    program,
    `import { openSync, mkdirSync } from 'node:fs'
     import * as records from ${module('process/process-record.ts')}
     import * as workers from ${module('process/find-workers.ts')}
     import * as data from ${module('process/process-data.ts')}
     import * as commands from ${module('run-command.ts')}
     import * as known from ${module('image/known-images.ts')}
     import * as uses from ${module('image/image-uses.ts')}
     const folder = ${JSON.stringify(folder)}
     mkdirSync(folder + '/data')
     await uses.noteUse(folder, { id: 'h', folder }, 'sha256:1')
     await known.noteImage(folder, { reference: 'r', id: 'sha256:1', digest: 'r@sha256:2' })
     const own = { agentId: 'scout', pid: process.pid, startTicks: await records.startTicksOf(process.pid), bootId: null,
       port: 1, labels: {}, stoppedWith: null }
     await records.writeRecord(folder, own)
     await commands.runCommand('true', [], { timeoutMs: 5000 })
     const codeOf = (error) => ({ rejects: error.code ?? String(error) })
     const calls = { ${Object.entries(calls)
       .map(([name, code]) => `${name}: async () => ${code}`)
       .join(', ')} }
     try { for (;;) openSync('/dev/null', 'r') } catch {}
     const said = {}
     for (const [name, call] of Object.entries(calls)) said[name] = await call().catch(codeOf)
     console.log(JSON.stringify(said))`,
  )
  const child = spawn('sh', ['-c', `ulimit -n 100; exec "$0" "$1"`, process.execPath, program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(await text(child.stdout)) as unknown
}

test('at the limit of open files, nothing is taken for absent: no agent has ended, no image is unused or unknown', async () => {
  const calls = {
    alive: 'records.isAlive(own)',
    record: 'records.readRecord(folder)',
    records: 'records.readAllRecords(folder)',
    workers: 'workers.findWorkers(() => true)',
    pinned: "known.knownImage(folder, 'r')",
    known: 'known.knownImages(folder)',
    used: 'uses.imagesInUse(folder)',
    program: "commands.runCommand('true', [], { timeoutMs: 5000 })",
    read: 'data.readProcessData(folder, { group: null, clock: { now: () => 0, sleep: () => new Promise(() => {}) } })',
    written: "data.writeProcessData(folder + '/other', [])",
  }
  const refused = { rejects: 'EMFILE' }
  expect(await atTheLimit(calls)).toEqual({
    alive: refused,
    record: refused,
    records: refused,
    workers: refused,
    pinned: refused,
    known: refused,
    used: refused,
    program: { code: 128, stdout: '', stderr: expect.stringContaining('EMFILE') as unknown },
    read: refused,
    written: refused,
  })
})

test('a program that the system refuses at once is a result with a code other than 0', async () => {
  // An argument above 128 KiB: Node throws E2BIG as it throws ENOMEM, and emits EAGAIN and EMFILE.
  expect(await runCommand('true', ['x'.repeat(200_000)], { timeoutMs: 5000 })).toEqual({
    code: 128,
    stdout: '',
    stderr: expect.stringContaining('E2BIG') as unknown,
  })
})
