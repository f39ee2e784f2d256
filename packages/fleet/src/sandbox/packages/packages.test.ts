import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { localAptSources } from './host-registries.ts'
import { missingPackage } from './missing-package.ts'
import { npmSettings } from './npm-settings.ts'
import { pipSetting } from './pip-settings.ts'
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
  const output =
    'noise\napt\thello\t2.10-3\thello.deb\tabc\t52832\npip\tTyping_Extensions\t4.1\t\t\nnpm\t\t\n'
  expect(readList(output)).toEqual([
    { kind: 'apt', name: 'hello', version: '2.10-3', file: 'hello.deb', sha256: 'abc', bytes: 52832 },
    { kind: 'pip', name: 'typing-extensions', version: '4.1', file: '', sha256: '', bytes: null },
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

test('a credential is added only to requests of its registry, and never to plain http for an https registry', () => {
  const table = createRegistryTable()
  table.add('npm', 'https://corp.test/')
  table.add('apt', 'http://corp.test/debian')
  table.add('apt', 'https://corp.test/debian')
  table.add('pip', 'https://ann:pw@corp.test/pip/simple')
  table.add('apt', 'https://bob:pw@apt.test/d')
  table.add('npm', 'http://plain.test/')
  for (const prefix of ['//corp.test/', '//plain.test/', '//apt.test/'])
    table.addCredential({ prefix, authorization: `Bearer ${prefix}` })
  const of = (address: string) => table.authorizationFor(new URL(address))
  const basic = (user: string) => `Basic ${Buffer.from(`${user}:pw`).toString('base64')}`
  expect(of('https://corp.test/npm/semver')).toBe('Bearer //corp.test/')
  expect(of('https://corp.test/files/semver.tgz')).toBe('Bearer //corp.test/')
  expect(of('https://corp.test/pip/simple/six/')).toBe(basic('ann'))
  expect(of('https://corp.test/files/six.whl')).toBe(basic('ann'))
  expect(of('http://plain.test/semver')).toBe('Bearer //plain.test/')
  expect(of('https://apt.test/d/pool/x.deb')).toBe(basic('bob'))
  for (const address of [
    'http://corp.test/debian/pool/x.deb',
    'https://corp.test/debian/pool/x.deb',
    'http://corp.test/npm/semver',
    'http://corp.test/files/six.whl',
    'http://corp.test/pip/simple/six/',
    'http://apt.test/d/pool/x.deb',
  ])
    expect([address, of(address)]).toEqual([address, null])
})

test('a plain http registry of npm beside an https one on the same host gets no credential', () => {
  const table = createRegistryTable()
  table.add('npm', 'https://corp.test/npm/')
  table.add('npm', 'http://corp.test/old/')
  table.addCredential({ prefix: '//corp.test/', authorization: 'Bearer all' })
  expect(table.authorizationFor(new URL('http://corp.test/old/semver'))).toBeNull()
  expect(table.authorizationFor(new URL('https://corp.test/npm/semver'))).toBe('Bearer all')
})

test('settings of pip are read as pip reads them, also those with several lines', () => {
  const text = [
    '[global]',
    'index-url = https://one.test/simple',
    '# a remark',
    'Extra_Index_URL =',
    '    https://two.test/simple',
    '    ; another remark',
    '',
    '    https://three.test/simple',
    'timeout = 10',
    '  indented with more lines',
  ].join('\n')
  expect(pipSetting(text, 'index-url')).toBe('https://one.test/simple')
  expect(pipSetting(text, 'extra-index-url')).toBe('https://two.test/simple\nhttps://three.test/simple')
  expect(pipSetting('  index-url: https://a.test/', 'index-url')).toBe('https://a.test/')
  expect(pipSetting('extra-index-url=https://a.test/\n\thttps://b.test/', 'extra-index-url')).toBe(
    'https://a.test/\nhttps://b.test/',
  )
  expect(pipSetting(text, 'no-such')).toBeNull()
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
  expect(programs).toHaveLength(4)
})
