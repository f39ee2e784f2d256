import { expect, test } from 'vitest'
import { hostPattern } from './host-pattern.ts'

test.each([
  '*',
  'example.org',
  'API.Example.org.',
  '*.example.org',
  '*.com',
  'localhost',
  '_dmarc.example.org',
  '192.168.1.20',
  '::1',
  'fd12::1',
])('%s names hosts', (pattern) => {
  expect(hostPattern.safeParse(pattern).success).toBe(true)
})

test.each([
  '.example.org',
  'a..b',
  '...',
  '*.',
  '999.1.1.1',
  '*.192.168.1.20',
  ':::',
  '1:2',
  'example.org:443',
  '',
])('%s, which would name no host, is refused', (pattern) => {
  expect(hostPattern.safeParse(pattern).error?.issues[0]?.message).toContain('a host, *.domain')
})
