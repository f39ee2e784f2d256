import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { PackageLock } from '../package-lock.ts'
import type { TarFacts } from '../read-tar.ts'
import { checkImage } from './check-image.ts'
import { readLibraries } from './delivered-libraries.ts'
import { configuresNode, isOfAgent, misledLibrary } from './trusted-places.ts'

const lock: PackageLock = {
  lock_version: 1,
  architecture: 'x64',
  packages: {},
  apt: [],
  npm: [],
  pip: [],
  npm_lock: '',
}
const withLibc = { apt: [{ name: 'libc6', version: '2', file: 'f', sha256: '' }] }

const inImage: readonly Partial<TarFacts>[] = [
  { path: 'usr/local/bin', type: '5' },
  { path: 'usr/local/bin/node' },
  { path: 'opt/flotilla', type: '5' },
  { path: 'opt/flotilla/agent.cjs' },
]

async function* entries(of: readonly Partial<TarFacts>[]): AsyncGenerator<TarFacts> {
  for (const one of of) {
    yield {
      path: '',
      type: '0',
      mode: 0o755,
      uid: 0,
      size: 1,
      target: '',
      content: async () => Buffer.alloc(0),
      ...one,
    }
  }
}

const check = (of: {
  readonly changed?: readonly string[]
  readonly files?: readonly Partial<TarFacts>[]
  readonly delivered?: readonly string[]
}) =>
  checkImage({
    changed: async () => of.changed ?? [],
    files: entries(of.files ?? inImage),
    lock: of.delivered === undefined ? lock : { ...lock, ...withLibc },
    delivered: readLibraries((of.delivered ?? []).join('\n')),
  })

test.each([
  ['/opt/flotilla/agent.cjs', true],
  ['/opt/flotilla/compile-cache/x', true],
  ['/opt/flotilla/node_modules/x/index.js', true],
  ['/usr/local/bin/node', true],
  ['/usr/local/sbin/node', true],
  ['/usr/local/lib/npm/package/bin/npm-cli.js', true],
  ['/etc/ld.so.preload', true],
  ['/node_modules/bufferutil/index.js', true],
  ['/opt/node_modules', true],
  ['/usr/local/lib/node/x.js', true],
  ['/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.99', true],
  ['/lib/x86_64-linux-gnu/libc.so.6', true],
  ['/lib64/ld-linux-x86-64.so.2', true],
  ['/usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libm.so.6', true],
  ['/opt/flotilla', false],
  ['/usr/local/sbin', false],
  ['/opt/flotilla/packages/npm/package.json', false],
  ['/opt/flotilla/packages/pip/torch/lib/libstdc++.so.6', false],
  ['/usr/lib/x86_64-linux-gnu/libstdc++.so', false],
  ['/usr/lib/i386-linux-gnu/libc.so.6', false],
  ['/usr/bin/hello', false],
  ['/usr/local/bin/nodemon', false],
  ['/etc/environment', false],
])('whether a package may not change %s: %s', (path, expected) => {
  expect(isOfAgent(path, lock)).toBe(expected)
})

test('the package of the distribution may replace its library, also beside a locked one', () => {
  expect(isOfAgent('/usr/lib/x86_64-linux-gnu/libc.so.6', withLibc)).toBe(false)
  expect(isOfAgent('/usr/lib/x86_64-linux-gnu/libstdc++.so.6', withLibc)).toBe(true)
  expect(isOfAgent('/usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libc.so.6', withLibc)).toBe(true)
})

test('an image in which nothing trusted changed is accepted', async () => {
  await expect(check({ changed: ['/usr', '/usr/bin/hello', '/opt/flotilla'] })).resolves.toBeUndefined()
})

test.each<[string, readonly Partial<TarFacts>[]]>([
  ['usr/bin/sudo', [{ path: 'usr/bin/sudo', mode: 0o4755 }]],
  ['usr/bin/wall', [{ path: 'usr/bin/wall', mode: 0o2755 }]],
  ['replaces the folder /opt/flotilla', [{ path: 'opt/flotilla', type: '2', target: '/opt/other' }]],
  ['/usr/local/bin/node', [{ path: 'usr/local/bin/node', type: '2', target: '/tmp/node' }]],
  ['openssl.cnf', [{ path: 'etc/ssl/openssl.cnf', content: async () => Buffer.from('nodejs_conf = x\n') }]],
  ['openssl.cnf', [{ path: 'etc/ssl/openssl.cnf', type: '2', target: '/opt/flotilla/packages/x' }]],
  ['ld.so.cache', [{ path: 'etc/ld.so.cache', content: async () => Buffer.from('something else') }]],
  ['ld.so.cache', [{ path: 'etc/ld.so.cache', type: '2', size: 0, target: '/srv/cache' }]],
  ['ld.so.cache', [{ path: 'etc/ld.so.cache', type: '1', size: 0, target: 'etc/apt/cache' }]],
  ['the folder /usr/local/sbin', [{ path: 'usr/local/sbin', type: '2', target: '/srv/s' }]],
  ['the folder /usr/lib', [{ path: 'usr/lib', type: '2', target: '/srv/lib' }]],
  ['the folder /etc/ssl', [{ path: 'etc/ssl', type: '2', target: '/srv/ssl' }]],
  ['the folder /data', [{ path: 'data', type: '2', target: '/opt/flotilla' }]],
  ['the folder /lib64', [{ path: 'lib64', type: '2', target: '/srv/lib' }]],
])('an image is refused that %s', async (words, files) => {
  await expect(check({ files: [...inImage, ...files] })).rejects.toMatchObject({
    id: 'packages-refused',
    message: expect.stringContaining(words),
  })
})

test('folders of the distribution may be folders or links into /usr', async () => {
  const names = ['bin', 'sbin', 'lib', 'lib64']
  const links = names.map((path) => ({ path, type: '2', target: `usr/${path}` }))
  await expect(check({ files: [...inImage, ...links] })).resolves.toBeUndefined()
  const folders = [...names, 'usr/local/sbin', 'etc/ssl'].map((path) => ({ path, type: '5' }))
  await expect(check({ files: [...inImage, ...folders] })).resolves.toBeUndefined()
})

test('an image with too many files is refused before the engine is asked for its changes', async () => {
  const many = Array.from({ length: 1_000_001 }, () => ({ path: 'x' }))
  let asked = 0
  const checked = checkImage({
    changed: async () => {
      asked += 1
      return []
    },
    files: entries([...inImage, ...many]),
    lock,
    delivered: new Map(),
  })
  await expect(checked).rejects.toMatchObject({
    id: 'packages-refused',
    message: expect.stringContaining('more than 1000000 files'),
  })
  expect(asked).toBe(0)
})

test('a file that is too large to be checked is refused by its name', async () => {
  const content = async () =>
    Promise.reject(new RangeError('the file /etc/ssl/openssl.cnf is larger than 1 bytes'))
  const files = [...inImage, { path: 'etc/ssl/openssl.cnf', content }]
  await expect(check({ files })).rejects.toMatchObject({
    id: 'packages-refused',
    message: expect.stringContaining(
      'leaves files that cannot be checked: the file /etc/ssl/openssl.cnf is larger',
    ),
  })
})

test('a library that its own package may replace must be the file of its archive', async () => {
  const path = 'usr/lib/x86_64-linux-gnu/libc.so.6'
  const bytes = Buffer.from('libc of the archive')
  const delivered = [`lib/x86_64-linux-gnu/libc.so.6\t${createHash('sha256').update(bytes).digest('hex')}`]
  const changed = [`/${path}`, '/usr/lib/x86_64-linux-gnu/libm.so.6.old']
  const own = [...inImage, { path, content: async () => bytes }]
  await expect(check({ delivered, changed, files: own })).resolves.toBeUndefined()
  const other = [...inImage, { path, content: async () => Buffer.from('another') }]
  await expect(check({ delivered, changed, files: other })).rejects.toThrow('libc.so.6 of another package')
  const link = [...inImage, { path, type: '2', target: '/srv/libc' }]
  await expect(check({ delivered, changed, files: link })).rejects.toThrow('libc.so.6 of another package')
  const added = [...own, { path: 'usr/lib/x86_64-linux-gnu/libm.so.6.old' }]
  await expect(check({ delivered, changed, files: added })).rejects.toThrow('changes /usr/lib')
})

test.each([
  ['nodejs_conf = x', true],
  ['nodejs\\\n_conf = x', true],
  ['nodejs\\\r\n_conf = x', true],
  ['node\\js_conf = x', true],
  ['  .include /srv/x', true],
  ['.inc\\\nlude /srv/x', true],
  ['x = y\\\\\n.include /srv/x', true],
  ['#\\\n.include /srv/x', true],
  ['default::.include = /srv/x', true],
  ['.incl\0\nude /srv/x', true],
  ['# .include filename\n[ default ]\nHOME = . # the .includes', true],
  ['# See the .include directive.\n#.include filename\n[ default ]\nHOME = .\n', false],
])('whether the OpenSSL configuration %j changes how Node starts: %s', (text, expected) => {
  expect(configuresNode(text)).toBe(expected)
})

test('an image without Node at its place is refused', async () => {
  await expect(check({ files: inImage.slice(2) })).rejects.toMatchObject({ id: 'packages-refused' })
})

test('the loader’s cache is read: usual folders are accepted, another one is named', () => {
  expect(misledLibrary(cacheOf({ 'libc.so.6': '/lib/x86_64-linux-gnu/libc.so.6' }), 'x64')).toBeNull()
  const others = cacheOf({ 'libfoo.so.1': '/opt/foo/libfoo.so.1', 'libstdc++.so.6': '/opt/x/libstdc++.so.6' })
  expect(misledLibrary(others, 'x64')).toBe('/opt/x/libstdc++.so.6')
  const renamed = cacheOf({ 'libm.so.6': '/lib/x86_64-linux-gnu/evil.so' })
  expect(misledLibrary(renamed, 'x64')).toBe('/lib/x86_64-linux-gnu/evil.so')
})

test('the cache of this machine is read', async ({ skip }) => {
  const cache = await readFile('/etc/ld.so.cache').catch(() => null)
  if (cache === null || process.arch !== 'x64') return skip('this machine has no cache of this format')
  expect(misledLibrary(cache, 'x64')).toBeNull()
})

/** Writes a cache in the loader’s format. */
function cacheOf(paths: Readonly<Record<string, string>>): Buffer {
  const head = Buffer.alloc(48)
  head.write('glibc-ld.so.cache1.1')
  head.writeUInt32LE(Object.keys(paths).length, 20)
  let text = ''
  const start = 48 + 24 * Object.keys(paths).length
  const put = (value: string): number => {
    const at = start + Buffer.byteLength(text)
    text += `${value}\0`
    return at
  }
  const rows = Object.entries(paths).map(([name, path]) => {
    const row = Buffer.alloc(24)
    row.writeInt32LE(0x0303, 0)
    row.writeUInt32LE(put(name), 4)
    row.writeUInt32LE(put(path), 8)
    return row
  })
  return Buffer.concat([head, ...rows, Buffer.from(text)])
}
