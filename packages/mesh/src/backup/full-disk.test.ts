import { open, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { namingDisk } from './full-disk.ts'

/** What the system answers to a write where nothing is free. */
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

test('a full disk is named by the folder that was written to, its file system and what is free there', async () => {
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

test('other errors stay what they are', async () => {
  const error = Object.assign(new Error('no'), { code: 'EACCES' })
  expect(await namingDisk(error, { folder: '/', repair: '' })).toBe(error)
})
