import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
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

  const mainOf = ({ files }: Awaited<ReturnType<typeof bundle>>) => files[0]?.path ?? ''

  it('bundleAgent makes one CommonJS file that runs alone', async () => {
    const made = await bundle()
    expect(made.files.map(({ name }) => name)).toEqual(['agent.cjs'])
    const alone = join(directory, 'alone.cjs')
    await writeFile(alone, await readFile(mainOf(made)))
    expect((await runCommand('node', [alone], { timeoutMs: 10_000 })).stdout).toBe('one function\n')
  })

  it('unchanged sources give the same bundle; a change in any of them gives another', async () => {
    const before = await bundle()
    expect(await bundle()).toEqual(before)
    await writeFile(join(directory, 'part.ts'), `export const word: string = 'two'`)
    const after = await bundle()
    expect(after.hash).not.toBe(before.hash)
    expect(await readFile(mainOf(after), 'utf8')).toContain('two')
  })

  it('the same program gives the same bundle wherever it lies, CommonJS too', async () => {
    const hashes: string[] = []
    for (const place of ['here', 'there/deeper']) {
      const folder = join(directory, place)
      await mkdir(folder, { recursive: true })
      await writeFile(join(folder, 'old.cjs'), `module.exports = { word: 'three' }`)
      await writeFile(join(folder, 'main.cjs'), `console.log(require('./old.cjs').word)`)
      const made = await bundleAgent({
        entry: join(folder, 'main.cjs'),
        cacheDirectory: join(directory, 'cache'),
      })
      hashes.push(made.hash)
      expect((await runCommand('node', [mainOf(made)], { timeoutMs: 10_000 })).stdout).toBe('three\n')
    }
    expect(hashes[0]).toBe(hashes[1])
  })

  it('a damaged cache is rebuilt', async () => {
    const made = await bundle()
    await writeFile(mainOf(made), 'damaged')
    expect((await bundle()).hash).toBe(made.hash)
    expect(await readFile(mainOf(made), 'utf8')).not.toBe('damaged')
  })

  it('late imports of the agent go to a second file, and shared modules are bundled once', async () => {
    const folder = join(directory, 'halves')
    const entry = join(folder, 'main.ts')
    await mkdir(folder, { recursive: true })
    const sources = {
      'package.json': '{"type":"module"}',
      'kept.ts': `export class Kept {}\nexport const counted = { times: 0 }`,
      'large.ts': `export const used = 'used'\nexport { heavy } from './heavy.ts'`,
      'heavy.ts': `console.log('heavy is loaded')\nexport const heavy = 'he' + process.pid`,
      'late.ts': `import { Kept, counted } from './kept.ts'
import { used, heavy } from './large.ts'
export const make = () => { counted.times += 1; return new Kept() }
export const later = () => import('./latest.ts')
export const all = used + heavy`,
      'latest.ts': `export { counted } from './kept.ts'`,
      'main.ts': `import { Kept, counted } from './kept.ts'
console.log('started')
const late = await_(() => import('./late.ts'))
async function await_(load) {
  const { make, later } = await load()
  console.log(make() instanceof Kept, counted.times, (await later()).counted === counted)
}`,
    }
    for (const [name, source] of Object.entries(sources)) await writeFile(join(folder, name), source)
    const made = await bundleAgent({ entry, cacheDirectory: join(directory, 'cache') })
    expect(made.files.map(({ name }) => name)).toEqual(['agent.cjs', 'late.cjs'])
    expect(await readFile(mainOf(made), 'utf8')).not.toContain('heavy is loaded')
    const ran = await runCommand('node', [mainOf(made)], { timeoutMs: 10_000 })
    expect(ran.stdout).toBe('started\nheavy is loaded\ntrue 1 true\n')
    await writeFile(join(folder, 'late.ts'), `export const changed = 1`)
    expect((await bundleAgent({ entry, cacheDirectory: join(directory, 'cache') })).hash).not.toBe(made.hash)
  })

  it('a class that would be in both halves is refused, since neither would know the other’s', async () => {
    const folder = join(directory, 'twins')
    const entry = join(folder, 'main.ts')
    await mkdir(folder, { recursive: true })
    const sources = {
      'package.json': '{"type":"module"}',
      'fault.ts': `import { word } from './large.ts'\nexport class Fault extends Error {}\nexport const told = word`,
      'large.ts': `export const word = 'word'\nexport { heavy } from './heavy.ts'`,
      'heavy.ts': `export function heavy() {}`,
      'late.ts': `export { Fault } from './fault.ts'\nexport { heavy } from './large.ts'`,
      'main.ts': `import { Fault, told } from './fault.ts'
import('./late.ts').then((late) => console.log(told, late.heavy, late.Fault === Fault))`,
    }
    for (const [name, source] of Object.entries(sources)) await writeFile(join(folder, name), source)
    await expect(bundleAgent({ entry, cacheDirectory: join(directory, 'cache') })).rejects.toThrow(
      /fault\.ts has a class and would be in both halves/,
    )
  })

  it('a file of parts/ becomes a file of its own that is loaded when it is first imported', async () => {
    const entry = join(directory, 'whole', 'main.ts')
    await mkdir(join(directory, 'whole', 'parts'), { recursive: true })
    await writeFile(join(directory, 'whole', 'parts', 'heavy.ts'), `export const heavy = 'he' + 'avy'`)
    await writeFile(
      join(directory, 'whole', 'near.ts'),
      `export const load = () => import('./parts/heavy.ts')`,
    )
    await writeFile(
      entry,
      `import { load } from './near.ts'
const files = () => Object.keys(require.cache).length
const before = files()
load().then(({ heavy }) => console.log(heavy, files() - before))`,
    )
    const made = await bundleAgent({ entry, cacheDirectory: join(directory, 'cache') })
    expect(made.files.map(({ name }) => name)).toEqual(['agent.cjs', 'parts/heavy.cjs'])
    expect(await readFile(mainOf(made), 'utf8')).not.toContain("'he'")
    const ran = await runCommand('node', [mainOf(made)], { timeoutMs: 10_000 })
    expect(ran.stdout).toBe('heavy 1\n')
    await writeFile(join(directory, 'whole', 'near.ts'), `export { heavy } from './parts/heavy.ts'`)
    await expect(bundleAgent({ entry, cacheDirectory: join(directory, 'cache') })).rejects.toThrow(
      /import it late/,
    )
  })
})
