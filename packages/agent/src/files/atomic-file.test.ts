import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readJsonFile, writeAtomically } from './atomic-file.ts'
import { keepReserve, tryState, writeState } from './state-file.ts'

/**
 * A folder of the agent's state, and a function that puts named pipes into it, as any program in the container can.
 */
function aFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-state-'))
  const at = (name: string) => join(folder, name)
  const pipe = (name: string) => execFileSync('mkfifo', [at(name)])
  return { folder, at, pipe }
}

describe('a file of the state, among programs that can write beside it', () => {
  test('a file of the state, among programs that can write beside it is written though a pipe lies where its half would', async () => {
    const { at, pipe } = aFolder()
    pipe('outcome.json.next')
    await writeAtomically(at('outcome.json'), '{"done":true}')
    expect(readFileSync(at('outcome.json'), 'utf8')).toBe('{"done":true}')
  })

  test('a file of the state, among programs that can write beside it takes the place of a pipe', async () => {
    const { at, pipe } = aFolder()
    pipe('outcome.json')
    await writeAtomically(at('outcome.json'), '1')
    expect(await readJsonFile(at('outcome.json'))).toBe(1)
  })

  test('a file of the state, among programs that can write beside it is not written through a link that lies where its half would', async () => {
    const { at } = aFolder()
    writeFileSync(at('other'), 'untouched')
    symlinkSync(at('other'), at('outcome.json.next'))
    await writeAtomically(at('outcome.json'), '2')
    expect(readFileSync(at('other'), 'utf8')).toBe('untouched')
    expect(statSync(at('outcome.json')).isFile()).toBe(true)
  })

  test('a state file counts as absent if a pipe, a device behind a link or a folder is in its place, and reading does not wait for it', async () => {
    const { at, pipe } = aFolder()
    pipe('a.json')
    symlinkSync('/dev/zero', at('b.json'))
    mkdirSync(at('c.json'))
    for (const name of ['a.json', 'b.json', 'c.json']) expect(await readJsonFile(at(name))).toBeUndefined()
    expect(await readJsonFile(at('d.json'))).toBeNull()
  })

  test('the sign of life and the reserve pass by pipes too', async () => {
    const { folder, at, pipe } = aFolder()
    await writeState(folder, at('.flotilla/first.json'), '{}')
    pipe('.flotilla/pulse.next')
    await tryState(folder)
    mkdirSync(at('.flotilla/reserve'))
    pipe('.flotilla/reserve/0')
    await keepReserve(folder)
    expect(statSync(at('.flotilla/reserve/1')).isFile()).toBe(true)
  })
})
