import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { createDataFiles } from './data-files.ts'

/** A data directory with a secret beside it, which no path may reach. */
function place() {
  const outside = mkdtempSync(join(tmpdir(), 'files-'))
  const data = join(outside, 'data')
  mkdirSync(join(data, 'sub'), { recursive: true })
  mkdirSync(join(data, '.flotilla'))
  writeFileSync(join(outside, 'secret'), 'secret')
  writeFileSync(join(data, 'a.txt'), 'inside')
  writeFileSync(join(data, 'sub', 'b.txt'), 'deep')
  writeFileSync(join(data, '.flotilla', 'state'), 'state')
  return { outside, data, files: createDataFiles(data) }
}

const read = async (files: ReturnType<typeof createDataFiles>, path: string): Promise<string> =>
  (await files.read(path, 1000)).toString()

describe('files below the data directory', () => {
  test.each(['a.txt', '/data/a.txt', './a.txt', '/data//a.txt', '/data/././a.txt'])(
    '%s is read',
    async (path) => {
      verifies('limits:files:prefix-stripped')
      expect(await read(place().files, path)).toBe('inside')
    },
  )

  test('the directory’s own name is taken off too', async () => {
    const { files, data } = place()
    expect(await read(files, join(data, 'sub/b.txt'))).toBe('deep')
  })

  test.each([
    ['a parent', '../secret'],
    ['a parent after the prefix', '/data/../secret'],
    ['a parent inside', 'sub/../../secret'],
  ])('%s that would lead out is refused', async (_name, path) => {
    verifies('errors:path-outside-data')
    const { files, outside } = place()
    const refused = { code: 'path-refused' }
    await expect(files.read(path, 1000)).rejects.toMatchObject(refused)
    await expect(files.write(path, Buffer.from('x'))).rejects.toMatchObject(refused)
    await expect(files.remove(path)).rejects.toMatchObject(refused)
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret')
  })

  test('a path with two dots is refused as written, before any access, also if it would end inside', async () => {
    verifies('limits:files:dot-dot-rejected')
    const { files } = place()
    const refused = { code: 'path-refused' }
    for (const path of ['sub/../a.txt', '/data/sub/../a.txt', 'nowhere/../a.txt', 'a.txt/..', '..']) {
      await expect(files.read(path, 1000), path).rejects.toMatchObject(refused)
    }
  })

  test.each([
    ['another root', '/etc/passwd'],
    ['a longer prefix', '/database/x'],
    ['a null character', 'a.txt\0.png'],
    ['a path without end', 'x/'.repeat(3000)],
    ['the agent’s own state', '.flotilla/state'],
    ['its state through a dot', './.flotilla/state'],
    ['the folder of its state', '.flotilla'],
  ])('%s is refused', async (_name, path) => {
    heedsLesson(115)
    const { files } = place()
    await expect(files.read(path, 1000)).rejects.toMatchObject({ code: 'path-refused' })
    await expect(files.write(path, Buffer.from('x'))).rejects.toMatchObject({ code: 'path-refused' })
    await expect(files.list(path, { recursive: true, entriesMax: 10 })).rejects.toMatchObject({
      code: 'path-refused',
    })
  })

  test('what the walk reached and the kernel says lies outside is neither read, written, listed nor taken away', async () => {
    verifies('limits:files:final-check', 'errors:path-outside-data')
    const { outside, data, files } = place()
    const elsewhere = `${outside}-elsewhere`
    // The parent folder and a link swap places, so that every single step of the walk from the root is valid.
    renameSync(outside, elsewhere)
    symlinkSync(elsewhere, outside)
    const refused = { code: 'path-refused' }
    await expect(files.read('a.txt', 1000)).rejects.toMatchObject(refused)
    for (const path of ['.', 'sub']) {
      for (const recursive of [false, true]) {
        await expect(files.list(path, { recursive, entriesMax: 10 })).rejects.toMatchObject(refused)
      }
    }
    for (const append of [true, false]) {
      await expect(files.write('a.txt', Buffer.from('x'), { append })).rejects.toMatchObject(refused)
    }
    await expect(files.remove('a.txt')).rejects.toMatchObject(refused)
    await expect(files.remove('sub/b.txt')).rejects.toMatchObject(refused)
    expect(readdirSync(data).sort()).toEqual(['.flotilla', 'a.txt', 'sub'])
    expect(readdirSync(join(data, 'sub'))).toEqual(['b.txt'])
  })

  test('encoded dots are letters here', async () => {
    await expect(place().files.read('%2e%2e/secret', 10)).rejects.toMatchObject({ code: 'not-found' })
  })

  test.each([
    ['a link to a file outside', '../secret', ''],
    ['an absolute link outside', '/etc', '/passwd'],
    ['a link to the parent', '..', '/secret'],
    ['a link to the root', '/', '/etc/passwd'],
    ['a link to the own process', '/proc/self', '/environ'],
    ['form a loop', 'link', ''],
  ])('%s is refused', async (_name, target, rest) => {
    verifies('limits:files:symlink-safe', 'errors:path-outside-data')
    const { files, data, outside } = place()
    symlinkSync(target, join(data, 'link'))
    await expect(files.read(`link${rest}`, 1000)).rejects.toMatchObject({ code: 'path-refused' })
    await expect(files.write(`link${rest}`, Buffer.from('x'))).rejects.toMatchObject({ code: 'path-refused' })
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret')
  })

  test('a link into the agent’s state is refused', async () => {
    const { files, data } = place()
    symlinkSync('.flotilla', join(data, 'link'))
    symlinkSync('../.flotilla', join(data, 'sub', 'up'))
    symlinkSync('/data/.flotilla', join(data, 'sub', 'absolute'))
    for (const path of ['link/state', 'sub/up/state', 'sub/absolute/state']) {
      await expect(files.read(path, 1000)).rejects.toMatchObject({ code: 'path-refused' })
    }
  })

  test('links that stay inside are followed, relative and absolute', async () => {
    const { files, data } = place()
    symlinkSync('../a.txt', join(data, 'sub', 'up'))
    symlinkSync('/data/sub', join(data, 'absolute'))
    expect(await read(files, 'sub/up')).toBe('inside')
    expect(await read(files, 'absolute/b.txt')).toBe('deep')
    await files.write('sub/up', Buffer.from('new'))
    expect(readFileSync(join(data, 'a.txt'), 'utf8')).toBe('new')
  })

  test('a pipe does not hold the agent up', async () => {
    const { files, data } = place()
    execFileSync('mkfifo', [join(data, 'pipe')])
    await expect(files.read('pipe', 10)).rejects.toMatchObject({ code: 'unprocessable' })
    await expect(files.write('pipe', Buffer.from('x'), { append: true })).rejects.toMatchObject({
      code: 'unprocessable',
    })
  })

  test('a parent swapped for a link at any moment never leads outside', async () => {
    const { files, data, outside } = place()
    mkdirSync(join(outside, 'trap'))
    writeFileSync(join(outside, 'trap', 'b.txt'), 'trap')
    const swaps = { done: false }
    const triesMax = 30_000
    const putBack = (round: number) => {
      for (;;) {
        try {
          rmSync(join(data, 'sub'), { recursive: true, force: true })
          renameSync(join(data, `aside-${round}`), join(data, 'sub'))
          return
        } catch {
          // A concurrent write has created the directory again.
        }
      }
    }
    const swapping = (async () => {
      for (let round = 0; !swaps.done; round += 1) {
        renameSync(join(data, 'sub'), join(data, `aside-${round}`))
        try {
          symlinkSync(join(outside, 'trap'), join(data, 'sub'))
        } catch {
          // A concurrent write has created the directory again.
        }
        await new Promise(setImmediate)
        putBack(round)
        await new Promise(setImmediate)
      }
    })()
    const seen = new Set<string>()
    // Repeats until both cases occurred: on a busy machine the two loops can run in step, and every look hits
    // the link.
    for (let tries = 0; tries < 300 || (!seen.has('deep') && tries < triesMax); tries += 1) {
      seen.add(await read(files, 'sub/b.txt').catch((error: { code: string }) => error.code))
      await files.write('sub/new.txt', Buffer.from('x')).catch(() => 0)
      for (let turn = 0; turn < tries % 4; turn += 1) await new Promise(setImmediate)
    }
    swaps.done = true
    await swapping
    expect([...seen].filter((word) => !['deep', 'path-refused', 'not-found'].includes(word))).toEqual([])
    expect(seen).toContain('deep')
    expect(readdirSync(join(outside, 'trap'))).toEqual(['b.txt'])
  })

  test('a file is replaced in one step, keeps its mode, and its directories are made', async () => {
    const { files, data } = place()
    expect(await files.write('new/dir/run.sh', Buffer.from('one'))).toBe(3)
    execFileSync('chmod', ['755', join(data, 'new/dir/run.sh')])
    await files.write('new/dir/run.sh', Buffer.from('two'))
    expect(
      execFileSync('stat', ['-c', '%a', join(data, 'new/dir/run.sh')])
        .toString()
        .trim(),
    ).toBe('755')
    expect(await files.write('new/dir/run.sh', Buffer.from('+'), { append: true })).toBe(4)
    expect(readdirSync(join(data, 'new/dir'))).toEqual(['run.sh'])
  })

  test('what is too long leaves nothing behind', async () => {
    const { files, data } = place()
    const tooLong = files.write('big', Buffer.alloc(11), { maxBytes: 10 })
    await expect(tooLong).rejects.toMatchObject({ code: 'body-too-large' })
    expect(readdirSync(data).toSorted()).toEqual(['.flotilla', 'a.txt', 'sub'])
  })

  test('a listing names links, follows none and hides the state', async () => {
    const { files, data } = place()
    symlinkSync('/etc', join(data, 'etc'))
    const found = await files.list('.', { recursive: true, entriesMax: 100 })
    expect(found.map((entry) => `${entry.kind} ${entry.path}`)).toEqual([
      'file a.txt',
      'link etc',
      'directory sub',
      'file sub/b.txt',
    ])
  })
})
