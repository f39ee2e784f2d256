import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { keepText } from '../fake-terminal.ts'
import { passphraseIn } from './backup-passphrase.ts'

const { signal } = new AbortController()
const sentIn = (text: string) => ({ input: Readable.from([Buffer.from(text)]), err: keepText(), signal })

/** A person who types one line at each prompt. */
function typing(...lines: readonly string[]) {
  const left = [...lines]
  const input = Object.assign(new PassThrough(), { isTTY: true })
  const err = keepText(true)
  const write = (text: string) => {
    err.write(text)
    if (text.endsWith(': ')) setImmediate(() => input.write(`${left.shift() ?? ''}\n`))
  }
  return { deps: { input, err: { ...err, write }, signal }, shown: () => err.text() }
}

test('no passphrase is asked for if no file is named', async () => {
  expect(await passphraseIn(sentIn('not read'), undefined, 'backup')).toBeNull()
})

test('the passphrase is the first line of the file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'passphrase-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'passphrase')
  await writeFile(path, 'a long sentence\r\nand more\n')
  expect(await passphraseIn(sentIn(''), path, 'restore')).toBe('a long sentence')
  await writeFile(path, 'short\n')
  await expect(passphraseIn(sentIn(''), path, 'restore')).rejects.toThrow(/the first line of .* is shorter/)
})

test('the passphrase is the first line of standard input', async () => {
  expect(await passphraseIn(sentIn('a long sentence\nand more'), '-', 'backup')).toBe('a long sentence')
  await expect(passphraseIn(sentIn(''), '-', 'restore')).rejects.toThrow('the passphrase is shorter than 8')
})

test('the passphrase is typed at a terminal, which does not show it', async () => {
  const { deps, shown } = typing('a long sentence')
  expect(await passphraseIn(deps, '-', 'restore')).toBe('a long sentence')
  expect(shown()).toBe('Passphrase: \n')
})

test('one that is to close a backup is typed twice', async () => {
  expect(await passphraseIn(typing('a long sentence', 'a long sentence').deps, '-', 'backup')).toBe(
    'a long sentence',
  )
  await expect(
    passphraseIn(typing('a long sentence', 'a long sentense').deps, '-', 'backup'),
  ).rejects.toThrow('are not the same')
})
