import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createFileEditor } from '../../../foundation/src/config/atomic-file.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { systemClock } from '../../../foundation/src/platform/system-clock.ts'
import { createBindingFile } from './binding-file.ts'

async function aStore(text: string | null) {
  const path = join(await mkdtemp(join(tmpdir(), 'bindings-')), 'credentials.json')
  if (text !== null) await writeFile(path, text)
  const clock = { ...systemClock, sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(5, signal) }
  const store = await createBindingFile({ path, editor: createFileEditor(), clock, log: silentLog })
  onTestFinished(() => store.close())
  return { path, store }
}

const file = (credentials: object) => JSON.stringify({ credentials }, null, 2)

describe('the bindings of credentials', () => {
  test('the bindings of credentials come from the file, case-insensitively by name', async () => {
    const { store } = await aStore(file({ GitHub: { hosts: ['api.github.com'], note: 'mine' } }))
    expect(store.bindingOf('github')).toEqual({ hosts: ['api.github.com'], note: 'mine', programs: [] })
    expect(store.bindingOf('GITHUB')?.hosts).toEqual(['api.github.com'])
    expect(store.bindingOf('other')).toBe(null)
    expect(store.broken()).toBe(null)
  })

  test('a missing file binds nothing and breaks nothing', async () => {
    const { store } = await aStore(null)
    expect([store.bindingOf('github'), store.broken()]).toEqual([null, null])
  })

  test.each([
    ['a comma too many', '{\n  "credentials": {},\n}', 3],
    ['a star for everything', file({ a: { hosts: ['*'] } }), 5],
    ['an unknown key', file({ a: { hosts: [], host: 'x.example' } }), 5],
    ['a name of the mesh', file({ FLOTILLA_CRED_A: { hosts: [] } }), 3],
    ['one name twice', file({ a: { hosts: [] }, A: { hosts: [] } }), 2],
    ['nothing', '', 1],
  ])('a file with %s binds nothing and says the line', async (_what, text, line) => {
    const { store } = await aStore(text)
    expect(store.broken()).toContain(`config/credentials.json line ${line}: `)
    expect(store.bindingOf('a')).toBe(null)
    await expect(store.edit('b', { hosts: [], note: '', programs: [] })).rejects.toMatchObject({
      code: 'unprocessable',
    })
  })

  test('bindings follow a manual edit that breaks the file, and one that repairs it', async () => {
    const { store, path } = await aStore(file({ a: { hosts: ['a.example'] } }))
    await writeFile(path, file({ a: { hosts: ['b.example'] } }))
    await expect.poll(() => store.bindingOf('a')?.hosts).toEqual(['b.example'])
    await writeFile(path, '{')
    await expect.poll(() => store.broken()).toContain('line 1')
    expect(store.bindingOf('a')).toBe(null)
    await rm(path)
    await expect.poll(() => store.broken()).toBe(null)
  })

  test('the bindings of credentials are edited one after the other, and none is lost', async () => {
    const { store, path } = await aStore(null)
    const names = Array.from({ length: 20 }, (_, at) => `name_${at}`)
    await Promise.all(
      names.map((name) =>
        store.edit(name, { hosts: [`${name.replace('_', '')}.example`], note: '', programs: [] }),
      ),
    )
    await store.edit('NAME_3', null)
    const written = JSON.parse(await readFile(path, 'utf8')) as { credentials: object }
    expect(Object.keys(written.credentials).toSorted()).toEqual(
      names.filter((name) => name !== 'name_3').toSorted(),
    )
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })
})
