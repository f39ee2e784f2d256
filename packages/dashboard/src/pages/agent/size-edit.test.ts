import { expect, it } from 'vitest'
import { readSize, sizeFields, sizeText } from './size-edit.ts'

const none = { memory_mb: '', cpus: '', pids: '', tmp_mb: '' }

it('the fields of a setting are read as the same setting', () => {
  for (const set of [{}, { memory_mb: 1024 }, { memory_mb: 1024, cpus: 0.5, pids: 512, tmp_mb: 200 }])
    expect(readSize(sizeFields(set))).toEqual({ set, fault: null })
  expect(readSize({ ...none, cpus: ' 0,5 ' }).set).toEqual({ cpus: 0.5 })
})

it.each([
  [{ memory_mb: '64' }, 'Memory: write a whole number from 128 to 1048576, or nothing.'],
  [{ memory_mb: 'much' }, 'Memory: write a whole number from 128 to 1048576, or nothing.'],
  [{ pids: '100.5' }, 'Processes and threads: write a whole number from 64 to 32768, or nothing.'],
  [{ cpus: '0.01' }, 'Processors: write a number from 0.05 to 1024, or nothing.'],
])('a field that is no limit is named with its bounds: %j', (fields, fault) => {
  expect(readSize({ ...none, ...fields })).toEqual({ set: null, fault })
})

it('the text shows each limit that follows, and which are defaults', () => {
  const preset = { memory_mb: 384, cpus: 0.15, pids: 256, tmp_mb: 100 }
  expect(sizeText({ memory_mb: 1024 }, preset).split('\n')).toEqual([
    'Memory: 1024 MB',
    'Processors: 0.15 (default)',
    'Processes and threads: 256 (default)',
    'Size of /tmp: 100 MB (default)',
  ])
})
