import { spawnSync } from 'node:child_process'
import { lstatSync, mkdtempSync, readlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readEnvironment } from '../environment.ts'
import { keepText } from '../fake-terminal.ts'
import { createInterrupts } from '../interrupts.ts'
import { repositoryRoot } from '../mesh-process/mesh-paths.ts'
import { runWords } from '../run-command-line.ts'
import { Readable } from 'node:stream'

async function installed(folder: string, ...options: readonly string[]) {
  const [out, err] = [keepText(), keepText()]
  const code = await runWords(['install-command', '--folder', folder, ...options], {
    environment: readEnvironment({ PATH: folder }),
    out: { write: out.write },
    err: { write: err.write },
    input: Readable.from([]),
    interrupts: createInterrupts(() => 0),
  })
  return { code, out: out.text(), err: err.text() }
}

test('install-command links the program into the folder, twice without a change, and removes the link', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'bin-')), 'new')
  const link = join(folder, 'flotilla')
  for (let times = 0; times < 2; times++) {
    expect(await installed(folder)).toMatchObject({ code: 0, out: expect.stringContaining(`rm ${link}`) })
    expect(readlinkSync(link)).toBe(join(repositoryRoot, 'bin', 'flotilla'))
  }
  expect(spawnSync(link, ['--help'], { encoding: 'utf8' }).stdout).toContain('Usage: ')
  expect(await installed(folder, '--remove')).toMatchObject({ code: 0 })
  expect(lstatSync(link, { throwIfNoEntry: false })).toBeUndefined()
})

test('install-command replaces and removes no other program of that name', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bin-'))
  writeFileSync(join(folder, 'flotilla'), 'theirs')
  for (const options of [[], ['--remove']]) {
    const { code, err } = await installed(folder, ...options)
    expect(code).toBe(1)
    expect(err).toContain('is not this Flotilla; nothing was changed')
  }
  expect(lstatSync(join(folder, 'flotilla')).size).toBe(6)
})

test('install-command says how to reach a folder that is not in the PATH', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bin-'))
  expect((await installed(folder)).err).toContain('Begin with: flotilla init')
  const other = join(folder, 'other')
  const [out, err] = [keepText(), keepText()]
  await runWords(['install-command', '--folder', other], {
    environment: readEnvironment({ PATH: folder }),
    out: { write: out.write },
    err: { write: err.write },
    input: Readable.from([]),
    interrupts: createInterrupts(() => 0),
  })
  expect(err.text()).toContain(`export PATH="${other}:$PATH"`)
})
