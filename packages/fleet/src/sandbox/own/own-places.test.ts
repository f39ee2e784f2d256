import { expect, test } from 'vitest'
import { programsPath } from '../packages/programs-path.ts'
import { isKeptOfOwn, isOfAgentImage, keptEnvironment, misleads } from './own-places.ts'

test.each([
  'opt/flotilla/agent.cjs',
  'usr/local/bin/node',
  'usr/local/lib/npm/package/x',
  'data',
  'briefing',
])('%s comes from the agent image and never from that of the owner', (path) => {
  expect(isOfAgentImage(path)).toBe(true)
  for (const type of ['0', '1', '2', '5']) expect(isKeptOfOwn({ path, type })).toBe(false)
})

test.each([
  ['etc/ld.so.preload', '0'],
  ['dev/sda', '0'],
  ['tmp/left', '0'],
  ['usr/disk', '3'],
  ['usr/disk', '4'],
  ['usr/pipe', '6'],
])('%s of type %s is left out', (path, type) => {
  expect(isKeptOfOwn({ path, type })).toBe(false)
})

test.each(['opt', 'opt/flotillas/x', 'usr/local/bin/nodejs', 'tmp', 'etc/ld.so.preloaded', 'opt/own/tool'])(
  '%s of the owner is kept',
  (path) => {
    expect(isKeptOfOwn({ path, type: path === 'tmp' ? '5' : '0' })).toBe(true)
    expect(isOfAgentImage(path)).toBe(false)
  },
)

test.each(['usr', 'usr/local/bin', 'opt', 'data', 'etc/ssl/certs'])('%s must be a folder', (path) => {
  expect(misleads({ path, type: '2' })).toBe(true)
  expect(misleads({ path, type: '5' })).toBe(false)
})

test('variables that make programs run other code are not kept', () => {
  const environment = [
    'LD_PRELOAD=/x.so',
    'LD_LIBRARY_PATH=/x',
    'NODE_OPTIONS=--require=/x.cjs',
    'NODE_PATH=/x',
    'PYTHONPATH=/x',
    'PYTHONHOME=/x',
    'BASH_ENV=/x',
    'HTTPS_PROXY=http://evil.example',
    'HOME=/root',
    'FLOTILLA_MESH_URL=http://evil.example',
    'JAVA_HOME=/opt/java',
    'BAD_HOME=/opt/$(touch x)',
    'TWO_HOME=/opt/a\nUSER 0',
    'LANG=C.UTF-8',
  ]
  expect(keptEnvironment(environment, '/usr/bin')).toEqual([
    'PATH=/usr/bin',
    'JAVA_HOME=/opt/java',
    'LANG=C.UTF-8',
  ])
})

test('folders of programs of the owner come behind those of the agent image', () => {
  const own = 'PATH=/opt/go/bin:/usr/local/bin:relative:.:/opt/go/bin:/opt/$x:/opt/b'
  expect(keptEnvironment([own], programsPath)).toEqual([`PATH=${programsPath}:/opt/go/bin:/opt/b`])
})
