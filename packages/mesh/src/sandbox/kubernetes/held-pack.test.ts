import { expect, test } from 'vitest'
import { afterMarker, heldCommand } from './held-pack.ts'

const marker = 'held-4711\n'

async function* pieces(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

const read = async (...texts: readonly string[]) =>
  Buffer.concat(await Array.fromAsync(afterMarker(pieces(...texts), marker))).toString()

test('an output is read from behind its marker, in whatever pieces it comes', async () => {
  expect(await read(`${marker}tar of data`)).toBe('tar of data')
  expect(await read('held', '-4711', '\nta', 'r of data')).toBe('tar of data')
  expect(await read(marker, 'tar')).toBe('tar')
  expect(await read(marker)).toBe('')
})

test.each([
  ['something before it', [`forged${marker}tar`]],
  ['another marker', ['held-4712\ntar']],
  ['a part of it', ['held-']],
  ['nothing', []],
])('an output that begins with %s is refused', async (_what, texts) => {
  await expect(read(...texts)).rejects.toMatchObject({ id: 'data-unread' })
})

test('the program that is run is given to the one that holds all others, with the marker before it', () => {
  const command = heldCommand(marker, ['tar', '--create'])
  expect(command[0]).toBe('/usr/local/bin/node')
  expect(command.slice(-3)).toEqual([marker, 'tar', '--create'])
})
