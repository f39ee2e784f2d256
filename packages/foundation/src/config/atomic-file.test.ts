import { chmod, mkdtemp, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createFileEditor, readTextFile, writeFileAtomically } from './atomic-file.ts'

async function aFolder(): Promise<string> {
  return await mkdtemp(join(tmpdir(), 'atomic-'))
}

describe('an atomic file', () => {
  test('an atomic file is replaced with its mode and leaves nothing else behind', async () => {
    const folder = await aFolder()
    const path = join(folder, 'deep', 'a.json')
    await writeFileAtomically(path, 'one')
    await writeFileAtomically(path, 'two', 0o640)
    expect(await readFile(path, 'utf8')).toBe('two')
    expect((await stat(path)).mode & 0o777).toBe(0o640)
    expect(await readdir(join(folder, 'deep'))).toEqual(['a.json'])
  })

  test('behind a link is replaced, and the link stays', async () => {
    const folder = await aFolder()
    await writeFile(join(folder, 'real'), 'old')
    await symlink('real', join(folder, 'link'))
    await writeFileAtomically(join(folder, 'link'), 'new')
    expect(await readFile(join(folder, 'real'), 'utf8')).toBe('new')
  })

  test('an atomic file keeps all of fifty concurrent edits', async () => {
    const path = join(await aFolder(), 'count')
    const editor = createFileEditor()
    await Promise.all(
      Array.from({ length: 50 }, () => editor.edit(path, (text) => String(Number(text ?? '0') + 1))),
    )
    expect(await readTextFile(path)).toBe('50')
  })

  test('an atomic file keeps a manual edit that was made during another edit', async () => {
    const path = join(await aFolder(), 'list')
    await writeFile(path, 'a')
    let isFirst = true
    await createFileEditor().edit(path, async (text) => {
      if (isFirst) await writeFile(path, 'a by-hand')
      isFirst = false
      return `${text} b`
    })
    expect(await readTextFile(path)).toBe('a by-hand b')
  })

  test('an atomic file is unchanged by an edit that throws, and the next edit works', async () => {
    const path = join(await aFolder(), 'list')
    const editor = createFileEditor()
    await writeFile(path, 'a')
    await chmod(path, 0o600)
    const failing = editor.edit(path, () => {
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    await editor.edit(path, (text) => `${text}b`)
    expect(await readTextFile(path)).toBe('ab')
  })
})
