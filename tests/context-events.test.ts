import { describe, expect, test } from 'vitest'
import { contextOf, readContextEvents } from '../scripts/context-events.ts'
import { meshPackages } from './package-rules.ts'
import { readSourceFiles, withoutComments } from './source-files.ts'

const files = readSourceFiles()
const events = readContextEvents(files)
const order = meshPackages.map(({ name }) => name)
const place = (module: string): number => order.indexOf(contextOf(module))

describe('the events between contexts', () => {
  test('the declarations of all events are read', () => {
    const declared = files
      .filter(({ path }) => /^packages\/\w+\/src\/events\/\w+-events\.ts$/.test(path))
      .flatMap(({ text }) => [
        ...withoutComments(text).matchAll(/readonly (\w+): (?:DomainEvent|AwaitedEvent|Question)</g),
      ])
      .map(([, name = '']) => name)
    expect(events.map(({ name }) => name).toSorted()).toEqual(declared.toSorted())
    expect(events.length).toBeGreaterThan(30)
  })

  test.each(events.map((event) => [event.name, event] as const))(
    '%s is published and has a reaction, none of them below its context',
    (_name, { context, from, to }) => {
      expect(from).not.toEqual([])
      expect(to).not.toEqual([])
      expect([...from, ...to].filter((module) => place(module) < place(context))).toEqual([])
    },
  )

  test('the kernel that every module receives knows no event', () => {
    const kernel = files.filter(({ path }) => path.startsWith('packages/identity/src/kernel/'))
    expect(kernel.length).toBeGreaterThan(3)
    const named = events.filter(({ name }) =>
      kernel.some(({ text }) => new RegExp(`\\b${name}\\b`).test(text)),
    )
    expect(named).toEqual([])
  })
})
