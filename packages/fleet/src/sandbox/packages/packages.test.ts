import { expect, test } from 'vitest'
import { isOfAgent } from './build-container.ts'
import { aptHosts, npmLines } from './host-registries.ts'
import { missingPackage } from './missing-package.ts'
import { absentFrom, pipName, readList } from './read-list.ts'

test.each([
  ['E: Unable to locate package no-such', 'no-such', 'the apt sources'],
  ["E: Version '9' for 'hello' was not found", 'hello', 'the apt sources'],
  ["npm error 404  The requested resource 'no-such@*' could not be found", 'no-such@*', 'the npm registry'],
  ["npm error 404  'no-such@*' is not in this registry.", 'no-such@*', 'the npm registry'],
  ['npm error notarget No matching version found for is-odd@99.', 'is-odd@99', 'the npm registry'],
  ['ERROR: No matching distribution found for no-such==1', 'no-such==1', 'the pip index'],
])('the missing package is read from: %s', (output, name, registry) => {
  expect(missingPackage(`first line\n${output}\nlast line`)).toEqual({ name, registry })
})

test('another failure names no package', () => {
  expect(missingPackage('E: Could not connect to deb.debian.org')).toBeNull()
})

test('the list of packages is read from lines with tabs, and other lines are skipped', () => {
  const output = 'noise\napt\thello\t2.10-3\thello.deb\tabc\npip\tTyping_Extensions\t4.1\t\t\nnpm\t\t\n'
  expect(readList(output)).toEqual([
    { kind: 'apt', name: 'hello', version: '2.10-3', file: 'hello.deb', sha256: 'abc' },
    { kind: 'pip', name: 'typing-extensions', version: '4.1', file: '', sha256: '' },
  ])
  expect(pipName('A.b__C')).toBe('a-b-c')
})

test('a locked package that is installed in another version is absent', () => {
  const lock = {
    lock_version: 1 as const,
    architecture: 'x64' as const,
    packages: {},
    apt: [{ name: 'hello', version: '2', file: 'f', sha256: '' }],
    npm: [],
    pip: [],
    npm_lock: '',
  }
  const installed = readList('apt\thello\t1\t\t')
  expect(absentFrom(installed, lock)).toEqual(['hello 2'])
  expect(absentFrom(readList('apt\thello\t2\t\t'), lock)).toEqual([])
})

test('npm gets registries of scopes and their credentials from this machine, and no other setting', () => {
  const text = [
    '@corp:registry = https://npm.corp.test/',
    '//npm.corp.test/:_authToken=${TOKEN}',
    'ignore-scripts=false',
    'script-shell=/bin/evil',
  ].join('\n')
  expect(npmLines(text, { TOKEN: 's3' })).toEqual([
    '@corp:registry=https://npm.corp.test/',
    '//npm.corp.test/:_authToken=s3',
  ])
})

test('the hosts of apt sources are those of their addresses, in both forms', () => {
  const sources = [
    { path: 'a.sources', text: 'Types: deb\nURIs: http://deb.debian.org/debian https://mirror.test:8443/d' },
    { path: 'b.list', text: 'deb [arch=amd64] http://apt.corp.test/debian bookworm main' },
  ]
  expect(aptHosts(sources)).toEqual(['deb.debian.org:80', 'mirror.test:8443', 'apt.corp.test:80'])
})

test.each([
  ['/opt/flotilla/agent.cjs', true],
  ['/opt/flotilla/compile-cache/x', true],
  ['/usr/local/bin/node', true],
  ['/usr/local/lib/npm/package/bin/npm-cli.js', true],
  ['/opt/flotilla', false],
  ['/opt/flotilla/packages/npm/package.json', false],
  ['/usr/bin/hello', false],
  ['/usr/local/bin/nodemon', false],
])('whether a package may not change %s: %s', (path, expected) => {
  expect(isOfAgent(path)).toBe(expected)
})
