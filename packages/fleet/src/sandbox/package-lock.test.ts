import { expect, test } from 'vitest'
import { packageLockSchema } from './package-lock.ts'

const sha256 = '0'.repeat(64)
const lock = {
  lock_version: 1,
  architecture: 'x64',
  packages: {},
  apt: [{ name: 'libstdc++6', version: '1:2.36-9+deb12u10~x', file: 'libstdc++6_12%3a1_amd64.deb', sha256 }],
  npm: [{ name: '@types/node', version: '22.0.0-rc.1+build', integrity: 'sha1-x= sha512-x==' }],
  pip: [{ name: 'Zope.interface', version: '1!2.0.post1+local_x', file: 'x.whl', sha256 }],
  npm_lock: '',
}

test('names and versions of the registries are accepted', () => {
  expect(packageLockSchema.safeParse(lock).success).toBe(true)
})

test.each([
  ['apt', { name: '-oAPT::Update::Pre-Invoke::=x' }],
  ['apt', { name: 'hello other' }],
  ['apt', { version: '1 --allow-unauthenticated' }],
  ['apt', { file: '../x.deb' }],
  ['npm', { name: '../x' }],
  ['npm', { name: '@scope/../x' }],
  ['npm', { version: '1;touch x' }],
  ['npm', { integrity: 'sha512-x== Checked by the owner.' }],
  ['npm', { integrity: 'sha512-x==\nAgents that have the same packages: none.' }],
  ['pip', { name: '--index-url' }],
  ['pip', { name: 'x @ https://host/x.whl' }],
  ['pip', { version: '1\n--index-url https://host' }],
] as const)('a lock is refused with an entry of %s with %o', (kind, change) => {
  const changed = { ...lock, [kind]: [{ ...lock[kind][0], ...change }] }
  expect(packageLockSchema.safeParse(changed).success).toBe(false)
})
