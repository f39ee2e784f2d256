import { expect, test } from 'vitest'
import { reportingBytes } from './report-bytes.ts'
import type { MovedBytes } from './report-bytes.ts'

const mb = 1024 * 1024

async function* pieces(count: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < count; at++) yield Buffer.alloc(mb)
}

test('progress is reported every four megabytes, and bytes pass unchanged', async () => {
  const told: MovedBytes[] = []
  let passed = 0
  for await (const piece of reportingBytes(pieces(10), 10 * mb, (moved) => told.push(moved)))
    passed += piece.length
  expect(passed).toBe(10 * mb)
  expect(told).toEqual([
    { bytes: 4 * mb, of: 10 * mb },
    { bytes: 8 * mb, of: 10 * mb },
  ])
})

test('a small number of bytes is not reported', async () => {
  const told: MovedBytes[] = []
  for await (const _piece of reportingBytes(pieces(3), null, (moved) => told.push(moved)));
  expect(told).toEqual([])
})
