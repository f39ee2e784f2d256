import { agentEndpoints } from '@flotilla/protocol/agent-endpoints'
import { expect, test } from 'vitest'
import { createRouter } from './router.ts'

const find = createRouter(agentEndpoints)

test.each([
  ['GET', '/healthz', 'healthz', {}],
  ['POST', '/chat', 'chat', {}],
  ['POST', '/chat/stream', 'chatStream', {}],
  ['GET', '/workspace', 'workspaceList', {}],
  ['GET', '/workspace/SOUL.md', 'workspaceRead', { file: 'SOUL.md' }],
  ['PUT', '/files/a/b%20c', 'fileWrite', { path: 'a/b c' }],
  ['GET', '/files', 'fileList', {}],
  ['DELETE', '/memory/fact_1', 'memoryForget', { fact: 'fact_1' }],
  ['GET', '/files/../x', 'fileRead', { path: '../x' }],
  ['GET', '/files/%2e%2e/x', 'fileRead', { path: '../x' }],
])('%s %s is %s', (...[method, path, name, params]) => {
  expect(find(method, path)).toEqual({ name, params })
})

test.each([
  ['GET', '/chat'],
  ['POST', '/chat/'],
  ['GET', '/workspace/'],
  ['GET', '/workspace/a/b'],
  ['GET', '/workspace/a%2Fb'],
  ['GET', '/files/a%2f..%2fb'],
  ['GET', '/files/%zz'],
  ['GET', '//healthz'],
  ['DELETE', '/files/x'],
])('%s %s is nothing', (method, path) => {
  expect(find(method, path)).toBeNull()
})
