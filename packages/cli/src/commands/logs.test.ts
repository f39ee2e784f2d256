import { describe, expect, it } from 'vitest'
import { createColor } from '../terminal/color.ts'
import { linesAfter, logLine, ofAgent } from './logs.ts'

describe('what the container of an agent prints', () => {
  it('container output is printed as lines of its agent, even if a line names another agent', () => {
    const said = JSON.stringify({
      time: 0,
      level: 'warn',
      msg: 'no room',
      agentId: 'operator',
      disk: '/data',
    })
    expect(JSON.parse(ofAgent(said, 'scout'))).toEqual({
      time: 0,
      level: 'warn',
      msg: 'no room',
      agentId: 'scout',
      disk: '/data',
    })
    expect(logLine(ofAgent(said, 'scout'), createColor(false))).toBe(
      '1970-01-01 00:00:00 warn  scout no room disk=/data',
    )
  })

  it('container output never prints lines of the mesh or invalid timestamps', () => {
    for (const time of [1e30, 'soon', -1e30]) {
      const said = JSON.stringify({ time, ready: true, url: 'http://elsewhere', msg: 'hello' })
      expect(logLine(ofAgent(said, 'scout'), createColor(false))).toMatch(/scout hello$/)
    }
    expect(logLine(ofAgent('plain words', 'scout'), createColor(false))).toMatch(/scout plain words$/)
  })

  it('what the container of an agent prints is followed by what came since, also where older lines are gone, and by all of another container', () => {
    expect(linesAfter(['a', 'b'], ['a', 'b', 'c'])).toEqual(['c'])
    expect(linesAfter(['a', 'b', 'c'], ['b', 'c', 'd', 'e'])).toEqual(['d', 'e'])
    expect(linesAfter(['c'], ['a', 'b', 'c'])).toEqual([])
    expect(linesAfter([], ['a'])).toEqual(['a'])
    expect(linesAfter(['a', 'b'], ['x', 'b', 'y'])).toEqual(['x', 'b', 'y'])
    expect(linesAfter(['a'], [])).toEqual([])
  })
})
