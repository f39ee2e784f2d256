import { expect, test } from 'vitest'
import { watchDisk } from './watch-disk.ts'

/** Watches a disk that reports the lines, and returns the reason after each of them, and the number of ends. */
async function watched(lines: readonly string[]) {
  let report = (_line: string): void => {}
  const counted = { ends: 0 }
  const watch = await watchDisk(
    { follow: async (_step, line) => void (report = line) },
    {
      folder: '/fetch',
      maxFiles: 100,
      maxBytes: 1024 ** 2,
      end: async () => void (counted.ends += 1),
    },
  )
  const reasons = lines.map((line) => {
    if (line === 'END') watch.end()
    else report(line)
    return watch.whyFull()
  })
  return { reasons, ends: counted.ends }
}

test('the watch ends a container whose disk lost too many bytes', async () => {
  expect(await watched(['500 5000000', '500 3951424', '500 3951423', '500 10'])).toEqual({
    reasons: [null, null, 'take more than 1 MB of disk space', 'take more than 1 MB of disk space'],
    ends: 1,
  })
})

test('the watch ends a container whose disk lost too many inodes', async () => {
  expect(await watched(['500 5000000', '400 5000000', '399 5000000'])).toEqual({
    reasons: [null, null, 'make more than 100 files'],
    ends: 1,
  })
})

test('bytes of a file system without inodes are watched', async () => {
  expect(await watched(['none 5000000', 'none 10'])).toMatchObject({
    reasons: [null, 'take more than 1 MB of disk space'],
  })
})

test('other lines, and lines after the end of the watch, change nothing', async () => {
  expect(await watched(['none', '500 5000000', 'x 1', '1', 'END', '0 0'])).toMatchObject({ ends: 0 })
})
