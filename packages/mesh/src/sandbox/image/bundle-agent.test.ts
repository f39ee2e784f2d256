import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../run-command.ts'
import { bundleAgent } from './bundle-agent.ts'

describe('bundleAgent', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'flotilla-bundle-'))
    await writeFile(join(directory, 'part.ts'), `export const word: string = 'one'`)
    await writeFile(
      join(directory, 'main.ts'),
      `import { word } from './part.ts'\nconsole.log(word, typeof require)`,
    )
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  const bundle = () =>
    bundleAgent({ entry: join(directory, 'main.ts'), cacheDirectory: join(directory, 'cache') })

  it('makes one CommonJS file that runs alone', async () => {
    const { path } = await bundle()
    const alone = join(directory, 'alone.cjs')
    await writeFile(alone, await readFile(path))
    expect((await runCommand('node', [alone], { timeoutMs: 10_000 })).stdout).toBe('one function\n')
  })

  it('unchanged sources give the same bundle; a change in any of them gives another', async () => {
    const before = await bundle()
    expect(await bundle()).toEqual(before)
    await writeFile(join(directory, 'part.ts'), `export const word: string = 'two'`)
    const after = await bundle()
    expect(after.hash).not.toBe(before.hash)
    expect(await readFile(after.path, 'utf8')).toContain('two')
  })

  it('a damaged cache is made anew', async () => {
    const { path, hash } = await bundle()
    await writeFile(path, 'damaged')
    expect((await bundle()).hash).toBe(hash)
    expect(await readFile(path, 'utf8')).not.toBe('damaged')
  })
})
