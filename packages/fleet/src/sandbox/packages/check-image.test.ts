import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { PackageLock } from '../package-lock.ts'
import type { TarFacts } from '../read-tar.ts'
import { checkImage } from './check-image.ts'
import { isOfAgent, misledLibrary } from './trusted-places.ts'

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

const check = (of: { readonly changed?: readonly string[]; readonly files?: readonly Partial<TarFacts>[] }) =>
  checkImage({ changed: of.changed ?? [], files: entries(of.files ?? inImage), lock })

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
])('an image is refused that %s', async (words, files) => {
  await expect(check({ files: [...inImage, ...files] })).rejects.toMatchObject({
    id: 'packages-refused',
    message: expect.stringContaining(words),
  })
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
