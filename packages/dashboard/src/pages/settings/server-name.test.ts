import { expect, test } from 'vitest'
import { serverName } from './server-name.ts'

test.each([
  ['GPU box', 'gpu-box'],
  ['--my server!', 'my-server-'],
  ['a'.repeat(80), 'a'.repeat(64)],
  ['vLLM_2', 'vllm_2'],
])('the typed name %s becomes %s', (typed, name) => {
  expect(serverName(typed)).toBe(name)
})
