import { expect, test } from 'vitest'
import type { TarEntry } from '../tar-archive.ts'
import { npmEntries, npmFiles, withOrigins } from './npm-lock.ts'
import { createRegistryTable } from './registry-table.ts'

const integrity = `sha512-${Buffer.alloc(64).toString('base64')}`
const good = { version: '1.0.0', resolved: 'https://registry.npmjs.org/a/-/a-1.0.0.tgz', integrity }
const lockOf = (packages: Readonly<Record<string, unknown>>): string =>
  `${JSON.stringify({ lockfileVersion: 3, packages: { '': { dependencies: { a: '^1' } }, ...packages } }, null, 2)}\n`
const file = (name: string, content: string): TarEntry => ({
  name,
  content: Buffer.from(content),
  size: content.length,
  uid: 0,
  mode: 0o644,
})
function contentOf(entries: readonly TarEntry[], name: string): string {
  const content = entries.find((one) => one.name === name)?.content
  return content instanceof Uint8Array ? Buffer.from(content).toString() : ''
}

test('the packages of a lock file are listed, with those that come inside another one', () => {
  const text = lockOf({
    'node_modules/a': good,
    'node_modules/a/node_modules/@x/b': { version: '2.0.0', inBundle: true },
  })
  expect(npmEntries(text)).toEqual([
    { name: 'a', version: '1.0.0', integrity },
    { name: '@x/b', version: '2.0.0', integrity: '' },
  ])
})

test.each<[string, Readonly<Record<string, unknown>>, string]>([
  ['without a digest', { 'node_modules/a': { ...good, integrity: undefined } }, 'a has no digest'],
  ['with an empty digest', { 'node_modules/a': { ...good, integrity: '' } }, 'a has no digest'],
  [
    'with words behind its digest',
    { 'node_modules/a': { ...good, integrity: `${integrity} Checked by the owner.` } },
    'a has no digest',
  ],
  [
    'of git',
    { 'node_modules/a': { ...good, resolved: 'git+ssh://git@host/a.git#1' } },
    'a does not come from a registry',
  ],
  ['of a folder', { 'node_modules/a': { resolved: '../a', link: true } }, 'a is a link to a folder'],
  [
    'that asks for an address',
    { 'node_modules/a': { ...good, dependencies: { b: 'https://host/b.tgz' } } },
    'a asks for b from an address',
  ],
  [
    'that asks for a repository',
    { 'node_modules/a': { ...good, optionalDependencies: { b: 'someone/b' } } },
    'a asks for b from an address',
  ],
  ['whose list names a folder', { '': { dependencies: { a: 'file:../a' } } }, 'the list asks for a'],
])('an entry %s is refused', (_what, packages, words) => {
  expect(() => npmEntries(lockOf(packages))).toThrow(words)
})

test('another name of a package of a registry is allowed to a package', () => {
  const text = lockOf({ 'node_modules/a': { ...good, dependencies: { b: 'npm:@scope/other@^2' } } })
  expect(npmEntries(text)).toHaveLength(1)
})

test('addresses are those of the registries in the lock, and loopback addresses in the container', () => {
  const table = createRegistryTable()
  table.add('npm', 'https://ann:pw@registry.npmjs.org/')
  const chosen = lockOf({
    'node_modules/a': { ...good, resolved: 'http://127.77.0.1:3128/a/-/a-1.0.0.tgz' },
    'node_modules/b': { ...good, resolved: 'https://ann:pw@registry.npmjs.org/b/-/b-1.0.0.tgz' },
  })
  const text = withOrigins(chosen, table)
  expect(text).toContain('"https://registry.npmjs.org/a/-/a-1.0.0.tgz"')
  expect(text).not.toContain('pw')
  const laid = contentOf(npmFiles(text, file, table), 'npm/package-lock.json')
  expect(laid).toContain('"http://127.77.0.1:3128/a/-/a-1.0.0.tgz"')
  expect(contentOf(npmFiles(text, file, null), 'npm/package-lock.json')).toBe(text)
  expect(contentOf(npmFiles(text, file, table), 'npm/package.json')).toContain('"dependencies":{"a":"^1"}')
})

test('files of another host than a registry of this machine are refused', () => {
  const text = lockOf({ 'node_modules/a': { ...good, resolved: 'https://other.test/a.tgz' } })
  expect(() => npmFiles(text, file, createRegistryTable())).toThrow('other.test')
})

test('optional packages that the registry lacks are left out of the lock, for npm to install from it', () => {
  const text = JSON.stringify({
    lockfileVersion: 3,
    packages: {
      '': { dependencies: { tool: '^1' } },
      'node_modules/tool': {
        version: '1.0.0',
        integrity,
        optionalDependencies: { '@tool/linux': '1.0.0', '@tool/absent': '1.0.0' },
      },
      'node_modules/@tool/linux': { version: '1.0.0', integrity },
    },
  })
  const { packages } = JSON.parse(withOrigins(text, { toOrigin: () => null })) as {
    packages: Record<string, { optionalDependencies?: unknown }>
  }
  expect(packages['node_modules/tool']?.optionalDependencies).toEqual({ '@tool/linux': '1.0.0' })
})
