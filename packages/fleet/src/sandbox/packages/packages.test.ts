import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { localAptSources } from './host-registries.ts'
import { missingPackage } from './missing-package.ts'
import { npmSettings } from './npm-settings.ts'
import { absentFrom, pipName, readList } from './read-list.ts'
import { createRegistryTable } from './registry-table.ts'

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

test('npm’s registries of scopes and credentials are read from this machine, and no other setting', () => {
  const text = [
    '@corp:registry = https://npm.corp.test/team/',
    '//npm.corp.test/team/:_authToken=${TOKEN}',
    '//two.test/:username=ann',
    `//two.test/:_password="${Buffer.from('p:w').toString('base64')}"`,
    'ignore-scripts=false',
    'script-shell=/bin/evil',
  ].join('\n')
  expect(npmSettings(text, { TOKEN: 's3' })).toEqual({
    scopes: [{ scope: '@corp', registry: 'https://npm.corp.test/team/' }],
    credentials: [
      { prefix: '//npm.corp.test/team/', authorization: 'Bearer s3' },
      { prefix: '//two.test/', authorization: `Basic ${Buffer.from('ann:p:w').toString('base64')}` },
    ],
  })
})

test('apt sources get addresses in the container without credentials, in both forms', () => {
  const table = createRegistryTable()
  const sources = [
    {
      path: 'a.sources',
      text: '# http://old.test/\nTypes: deb\nURIs: http://deb.debian.org/debian https://ann:pw@mirror.test:8443/d',
    },
    { path: 'b.list', text: 'deb [arch=amd64] http://apt.corp.test/debian bookworm main' },
  ]
  expect(localAptSources(table, sources)).toEqual([
    {
      path: 'a.sources',
      text: 'Types: deb\nURIs: http://127.77.0.1:3128/debian http://127.77.0.2:3128/d',
    },
    { path: 'b.list', text: 'deb [arch=amd64] http://127.77.0.3:3128/debian bookworm main' },
  ])
  expect(table.authorizationFor(new URL('https://mirror.test:8443/d/pool/x.deb'))).toMatch(/^Basic /)
  expect(table.authorizationFor(new URL('http://deb.debian.org/debian/x'))).toBeNull()
})

test('programs that run as root once packages are installed read no folder of packages', async () => {
  const recipe = new URL('../../../../../images/packages/', import.meta.url)
  const list = await readFile(new URL('list.sh', recipe), 'utf8')
  const install = await readFile(new URL('install.sh', recipe), 'utf8')
  const programs = [...`${list}\n${install}`.matchAll(/^(?!\s*#).*?(\S*\b(?:python3|node|npm) -.*)$/gm)]
  const allowed = /^(?:python3 -I -S -c '|\/usr\/local\/bin\/node -e )/
  expect(programs.map(([, program = '']) => program).filter((program) => !allowed.test(program))).toEqual([])
  expect(programs).toHaveLength(3)
})
