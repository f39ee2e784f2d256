import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { canMount, smallDiskForTest } from '../../../../tests/support/small-disk.ts'
import { createAnchorFile } from './journal-anchors.ts'

const checkpoint = (seq: number) => ({
  seq,
  hash: 'a'.repeat(64),
  kind: 'verified' as const,
  at: 0,
  seal: 'b'.repeat(64),
})

test.skipIf(!canMount)('an anchor that a full disk cuts off leaves no half line behind', async () => {
  const disk = await smallDiskForTest({ sizeMb: 1 })
  const path = join(disk.folder, 'anchors.jsonl')
  const anchors = createAnchorFile(path)
  // The disk has room for whole pages only, so the line that crosses the end of the last page is written in part.
  anchors.add(checkpoint(1))
  disk.fill()
  let seq = 2
  const addAll = () => {
    for (; seq < 100; seq++) anchors.add(checkpoint(seq))
  }
  expect(addAll).toThrow(/ENOSPC/)
  const kept = seq - 1
  expect(readFileSync(path, 'utf8').endsWith('\n')).toBe(true)
  await disk.drain()
  anchors.add(checkpoint(seq))
  expect(anchors.read().map((anchor) => anchor?.seq ?? null)).toEqual(
    Array.from({ length: kept + 1 }, (_, index) => index + 1),
  )
})
