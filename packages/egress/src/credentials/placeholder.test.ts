import { describe, expect, test } from 'vitest'
import { aCredentialRoom } from '../../../../tests/support/credential-room.ts'
import { placeholderFor } from './placeholder.ts'
import { parseProgramUse } from './program-use.ts'

const value = 'ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5'
const placeholder = placeholderFor('the secret of a mesh', { agentId: 'scout', name: 'github', value })
const url = new URL('https://code.test/')

function opened(hosts: readonly string[] = ['code.test']) {
  const room = aCredentialRoom({ values: { github: value }, hosts: { github: hosts } })
  return room.open({ kind: 'agent', agentId: 'scout', token: 'program', run: null })
}

describe('a placeholder', () => {
  test.each([
    [value, /^ghp_[A-Za-z0-9]{36}$/],
    ['npm_0123456789abcdefghijklmnopqrstuvwxyz', /^npm_[A-Za-z0-9]{36}$/],
    ['glpat-0123456789abcdefghij', /^glpat-[A-Za-z0-9]{20}$/],
    ['AKIAIOSFODNN7EXAMPLE', /^AKIA[A-Z2-7]{16}$/],
    ['wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', /^[A-Za-z0-9]{40}$/],
    ['my own password 17', /^flotilla_[A-Za-z0-9]{40}$/],
  ])('a placeholder for a value like %s has its form and none of its characters', (text, form) => {
    const made = placeholderFor('a secret', { agentId: 'scout', name: 'x', value: text })
    expect(made).toMatch(form)
    expect(made).not.toContain(text.slice(6))
  })

  test('a placeholder differs between agents, credentials and fleets, and stays the same otherwise', () => {
    const of = (secret: string, agentId: string, name: string) =>
      placeholderFor(secret, { agentId, name, value })
    const all = [of('a', 'scout', 'x'), of('a', 'other', 'x'), of('a', 'scout', 'y'), of('b', 'scout', 'x')]
    expect(new Set(all).size).toBe(4)
    expect(of('a', 'scout', 'x')).toBe(all[0])
  })

  test('headers of a program get the value, plain and inside Basic, and other headers stay as they are', () => {
    const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
    const filled = opened().fillHeaders(url, [
      'X-Api-Key',
      placeholder,
      'authorization',
      basic(`user:${placeholder}`),
      'X-Other',
      'kept',
    ])
    expect(filled).toEqual(['X-Api-Key', value, 'authorization', basic(`user:${value}`), 'X-Other', 'kept'])
    expect(opened().fillHeaders(url, ['Authorization', `Bearer ${placeholder}`])[1]).toBe(`Bearer ${value}`)
    const untouched = ['Authorization', basic('user:other')]
    expect(opened().fillHeaders(url, untouched)).toBe(untouched)
  })

  test.each([
    ['to another host', ['other.test'], ['Authorization', `Bearer ${placeholder}`], 'credential-refused'],
    ['to no host', [], ['Authorization', `Bearer ${placeholder}`], 'credential-refused'],
    ['twice', ['code.test'], ['X-A', placeholder, 'X-A', placeholder], 'bad-request'],
    ['with a range', ['code.test'], ['X-A', placeholder, 'Range', 'bytes=0-1'], 'bad-request'],
  ] as const)('a placeholder is refused %s', (...[, hosts, headers, code]) => {
    expect(() => opened(hosts).fillHeaders(url, headers)).toThrow(expect.objectContaining({ code }))
  })

  test('the placeholder of another agent is a text like any other', () => {
    const others = placeholderFor('the secret of a mesh', { agentId: 'other', name: 'github', value })
    expect(opened().fillHeaders(url, ['X-A', others])).toEqual(['X-A', others])
  })

  test.each([
    ['env:GH_TOKEN', { kind: 'env', variable: 'GH_TOKEN' }],
    ['git', { kind: 'git', user: 'x-access-token' }],
    ['git:oauth2', { kind: 'git', user: 'oauth2' }],
    ['npm', { kind: 'npm' }],
    ['netrc:me', { kind: 'netrc', user: 'me' }],
    ['env:PATH', null],
    ['env:HTTPS_PROXY', null],
    ['env:NODE_OPTIONS', null],
    ['env:LD_PRELOAD', null],
    ['env:GIT_SSH_COMMAND', null],
    ['env:FLOTILLA_MESH_URL', null],
    ['env:lower', null],
    ['git:a b', null],
    ['git:$(x)', null],
    ['ssh', null],
  ])('the use %s is read as %o', (text, use) => {
    expect(parseProgramUse(text)).toEqual(use)
  })
})
