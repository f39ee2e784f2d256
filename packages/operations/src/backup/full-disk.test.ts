import { open, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { namingDisk } from './full-disk.ts'

/** The system's error for a write to a full disk. */
async function fullDisk(): Promise<unknown> {
  const file = await open('/dev/full', 'w')
  try {
    return await file.write('x').then(
      () => null,
      (error: unknown) => error,
    )
  } finally {
    await file.close()
  }
}

test('a full disk is reported with the folder, its file system and the free space', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'full-disk-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  expect(await namingDisk(await fullDisk(), { folder, repair: 'Free some.' })).toMatchObject({
    code: 'disk-full',
    detail: expect.stringMatching(
      new RegExp(`^the disk of ${folder} is full \\(file system mounted at /.*, \\d+ MB free\\)$`),
    ),
    repair: 'Free some.',
  })
})

test('a disk that became read-only is reported with the folder, and a failed read is not of that disk', async () => {
  const at = (syscall: string, code: string) =>
    Object.assign(new Error(`${code}: bad, ${syscall}`), { code, syscall })
  expect(await namingDisk(at('open', 'EROFS'), { folder: tmpdir(), repair: '' })).toMatchObject({
    code: 'storage-failing',
    detail: expect.stringContaining(`the disk of ${tmpdir()} cannot be written: EROFS`),
    repair: expect.stringContaining(tmpdir()),
  })
  const read = at('read', 'EIO')
  expect(await namingDisk(read, { folder: tmpdir(), repair: '' })).toBe(read)
})

test('other errors are unchanged', async () => {
  const error = Object.assign(new Error('no'), { code: 'EACCES' })
  expect(await namingDisk(error, { folder: '/', repair: '' })).toBe(error)
})
