import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../platform/index.ts'
import { eventually } from '../../../../tests/support/eventually.ts'
import { followFile } from './follow-file.ts'

function aFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'follow-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'file'), text)
  return join(folder, 'file')
}

test('a look that failed is made again until it succeeds, though the file is the same and the report of it fails', async () => {
  let failures = 3
  const taken: (string | null)[] = []
  const file = await followFile({
    path: aFile('text'),
    clock: systemClock,
    take: (text) => {
      if (failures-- > 0) throw new Error('no descriptor is free')
      taken.push(text)
    },
    onUnreadable: () => {
      if (failures > 0 && failures < 2) throw new Error('the disk is full')
    },
  })
  await eventually('it was read', () => taken.length > 0)
  expect(taken).toEqual(['text'])
  await file.close()
})

test('a text of which something is still to be done is given again, and one that is done with is not', async () => {
  const answers = ['again', 'again', undefined] as const
  let looks = 0
  const file = await followFile({
    path: aFile('text'),
    clock: systemClock,
    take: () => answers[looks++],
    onUnreadable: () => {},
  })
  await eventually('it was done', () => looks >= 3)
  await file.close()
  expect(looks).toBe(3)
})
