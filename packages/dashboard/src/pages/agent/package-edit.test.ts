import { expect, it } from 'vitest'
import { packageFields, packagesText, readPackages } from './package-edit.ts'

it('packages are read from lines, spaces and commas, each once', () => {
  const fields = {
    apt: 'ripgrep, jq\nripgrep',
    npm: '',
    pip: ' requests==2.32.3 ',
    toolboxes: ['go'] as const,
  }
  expect(readPackages(fields)).toEqual({
    list: { apt: ['ripgrep', 'jq'], pip: ['requests==2.32.3'], toolboxes: ['go'] },
    fault: null,
  })
  expect(packagesText(fields)).toBe('toolbox go\napt ripgrep\napt jq\npip requests==2.32.3')
})

it('an invalid name is named with its registry', () => {
  expect(readPackages({ apt: '--oops', npm: '', pip: '', toolboxes: [] }).fault).toMatch(/^apt: /)
})

it('an empty form is an empty list, and a list comes back as it was', () => {
  expect(readPackages(packageFields({}))).toEqual({ list: {}, fault: null })
  const list = { apt: ['jq'], npm: ['typescript@5'], toolboxes: ['build' as const] }
  expect(readPackages(packageFields(list)).list).toEqual(list)
})
