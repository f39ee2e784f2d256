import { existsSync, mkdirSync, mkdtempSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { assertInside, codeOf, withPlace } from './walk-path.ts'

/** A data directory beside others whose names begin with its own name. */
function place() {
  const beside = mkdtempSync(join(tmpdir(), 'walk-'))
  const data = join(beside, 'data')
  for (const folder of ['data', 'data/sub', 'data-old', 'data2']) mkdirSync(join(beside, folder))
  for (const file of ['data/a', 'data/sub/b', 'data-old/secret', 'data2/secret', 'data.bak']) {
    writeFileSync(join(beside, file), 'x')
  }
  const opened = async (path: string) => {
    const handle = await open(join(beside, path))
    onTestFinished(() => handle.close())
    return handle
  }
  return { beside, data, opened }
}

describe('where the kernel says that an open file lies', () => {
  test.each(['data', 'data/a', 'data/sub/b'])('%s is inside', async (path) => {
    const { data, opened } = place()
    await expect(assertInside(data, await opened(path))).resolves.toBeUndefined()
  })

  test.each(['data-old/secret', 'data2/secret', 'data2', 'data.bak', '.'])(
    '%s is outside, however its name begins: what another agent or a backup keeps lies beside',
    async (path) => {
      verifies('limits:files:final-check')
      const { data, opened } = place()
      await expect(assertInside(data, await opened(path))).rejects.toMatchObject({ code: 'path-refused' })
    },
  )

  test('a file that was moved to a neighbor while it was open is outside from then on', async () => {
    verifies('limits:files:final-check')
    const { beside, data, opened } = place()
    const handle = await opened('data/sub/b')
    await assertInside(data, handle)
    renameSync(join(data, 'sub'), join(beside, 'data-sub'))
    await expect(assertInside(data, handle)).rejects.toMatchObject({ code: 'path-refused' })
  })
})

/** Returns where a walk ends as text; throws what it refuses. */
async function walked(
  data: string,
  path: string,
  makeDirectories = false,
): Promise<{ name: string; relativePath: string }> {
  const segments = path.split('/').filter((segment) => segment !== '')
  return withPlace(
    { root: data, rootNames: [data, '/data'], segments, makeDirectories },
    async ({ name, relativePath }) => ({ name, relativePath }),
  )
}

describe('a walk', () => {
  test.each([
    ['', { name: '.', relativePath: '' }],
    ['a', { name: 'a', relativePath: 'a' }],
    ['sub', { name: 'sub', relativePath: 'sub' }],
    ['sub/b', { name: 'b', relativePath: 'sub/b' }],
    ['not-there', { name: 'not-there', relativePath: 'not-there' }],
  ])(
    'a walk to %j knows where it is, since what is open below the root is decided by that',
    async (path, end) => {
      expect(await walked(place().data, path)).toEqual(end)
    },
  )

  test.each([
    ['../a', 'a'],
    ['..', ''],
    ['./..//sub/./b', 'sub/b'],
    ['/data', ''],
    ['/data/a', 'a'],
    ['/data//sub/./b', 'sub/b'],
    ['/data/sub/../a', 'a'],
  ])('a walk by a link to %s inside a folder leads where the link leads', async (target, relativePath) => {
    const { data } = place()
    symlinkSync(target, join(data, 'sub', 'link'))
    expect((await walked(data, 'sub/link')).relativePath).toBe(relativePath)
  })

  test('a walk by a link with the directory’s own name starts again at the root', async () => {
    const { data } = place()
    symlinkSync(join(data, 'a'), join(data, 'sub', 'link'))
    expect(await walked(data, 'sub/link')).toEqual({ name: 'a', relativePath: 'a' })
  })

  test('a walk that ends with a link to a folder above ends in that folder itself', async () => {
    const { data } = place()
    symlinkSync('..', join(data, 'sub', 'link'))
    expect(await walked(data, 'sub/link')).toEqual({ name: '.', relativePath: '' })
    expect((await walked(data, 'sub/link/sub/b')).relativePath).toBe('sub/b')
  })

  test('a walk does not follow a link into a neighbor whose name begins alike', async () => {
    const { data } = place()
    symlinkSync(`${data}-old/secret`, join(data, 'link'))
    await expect(walked(data, 'link')).rejects.toMatchObject({ code: 'path-refused' })
  })

  test.each(['..', '../..', '/', '/etc', '../data-old/secret'])(
    'a walk is refused at a link to %s from the root itself, before anything outside is opened',
    async (target) => {
      const { data } = place()
      symlinkSync(target, join(data, 'link'))
      await expect(walked(data, 'link/x')).rejects.toMatchObject({
        code: 'path-refused',
        detail: expect.stringContaining('/data'),
      })
    },
  )

  test('a walk releases every folder that it held, so that an agent does not run out of file descriptors', async () => {
    const { data } = place()
    const walk = { root: data, rootNames: [data], segments: ['sub', 'b'] }
    const directory = await withPlace(walk, async (end) => {
      expect(end.directory.fd).toBeGreaterThan(0)
      return end.directory
    })
    expect(directory.fd).toBe(-1)
  })

  test('a walk follows forty links, as the kernel does, and not one more', async () => {
    const { data } = place()
    symlinkSync('a', join(data, 'link-1'))
    for (let link = 2; link <= 41; link += 1) symlinkSync(`link-${link - 1}`, join(data, `link-${link}`))
    expect((await walked(data, 'link-40')).relativePath).toBe('a')
    await expect(walked(data, 'link-41')).rejects.toMatchObject({ code: 'path-refused' })
  })

  test('a walk through a missing folder names it, and creates it only on request', async () => {
    const { data } = place()
    await expect(walked(data, 'new/x')).rejects.toMatchObject({
      code: 'not-found',
      detail: expect.stringContaining('new'),
      cause: { code: 'ENOENT' },
    })
    expect(existsSync(join(data, 'new'))).toBe(false)
    expect((await walked(data, 'new/x', true)).relativePath).toBe('new/x')
    expect(existsSync(join(data, 'new'))).toBe(true)
    expect((await walked(data, 'new/x', true)).relativePath).toBe('new/x')
  })

  test('a walk through a file is refused', async () => {
    await expect(walked(place().data, 'a/x')).rejects.toMatchObject({
      code: 'path-refused',
      detail: expect.stringContaining('directory'),
    })
  })

  test('a walk that the kernel ends for a reason of its own ends with that reason', async () => {
    for (const path of ['x'.repeat(300), `${'x'.repeat(300)}/y`]) {
      await expect(walked(place().data, path, true)).rejects.toMatchObject({ code: 'ENAMETOOLONG' })
    }
  })
})

test('only an error of the system has a code to decide by', () => {
  expect(codeOf(Object.assign(new Error('gone'), { code: 'ENOENT' }))).toBe('ENOENT')
  for (const other of [new Error('gone'), { code: 'ENOENT' }, 'ENOENT', null]) expect(codeOf(other)).toBe('')
})
