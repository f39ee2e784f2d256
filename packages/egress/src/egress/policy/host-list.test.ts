import { describe, expect, test } from 'vitest'
import { listNamesHost } from './host-list.ts'

describe('an owner’s list of hosts', () => {
  test.each([
    [['api.example.org'], 'api.example.org'],
    [['API.Example.Org'], 'api.example.org'],
    [['api.example.org.'], 'api.example.org'],
    [['other.example', 'api.example.org'], 'api.example.org'],
    [['*.example.org'], 'api.example.org'],
    [['*.example.org'], 'a.b.example.org'],
    [['*.Example.org'], 'api.example.org'],
    [['*'], 'anything.example'],
    [['*'], '10.0.0.1'],
    [['::1'], '::1'],
    [['0x7f.1'], '127.0.0.1'],
    [['2606:4700:0::1'], '2606:4700::1'],
  ])('the list %j contains %s', (patterns, host) => {
    expect(listNamesHost(patterns, host)).toBe(true)
  })

  test.each([
    [[], 'api.example.org'],
    [['example.org'], 'api.example.org'],
    [['api.example.org'], 'api.example.org.evil.example'],
    [['api.example.org'], 'xapi.example.org'],
    [['*.example.org'], 'example.org'],
    [['*.example.org'], 'evilexample.org'],
    [['*.example.org'], 'example.org.evil.example'],
    [['api.*'], 'api.example.org'],
    [['*example.org'], 'api.example.org'],
    [['no host'], 'no host'],
    [['*.no host'], 'a.no host'],
    [['x*.example.org'], 'api.example.org'],
    [['https://api.example.org'], 'api.example.org'],
  ])('the list %j does not contain %s', (patterns, host) => {
    expect(listNamesHost(patterns, host)).toBe(false)
  })

  test('a missing list contains every host, and an empty one contains none', () => {
    expect(listNamesHost(undefined, 'anything.example')).toBe(true)
    expect(listNamesHost([], 'anything.example')).toBe(false)
  })
})
