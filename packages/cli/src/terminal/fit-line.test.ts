import { expect, it } from 'vitest'
import { createColor } from './color.ts'
import { fitLine } from './fit-line.ts'

const color = createColor(true)

it('fitLine leaves a line that fits, and cuts one that does not to the columns, not to the letters', () => {
  expect(fitLine('scout      run_command ls', 25)).toBe('scout      run_command ls')
  expect(fitLine('scout      run_command ls', 24)).toBe('scout      run_command …')
  expect(fitLine('船が港に', 8)).toBe('船が港に')
  expect(fitLine('船が港に', 7)).toBe('船が港…')
})

it('fitLine does not count colors, and ends those that it had begun', () => {
  const line = `${color.name('scout')} ${color.faint('reads a long text')}`
  expect(fitLine(line, 23)).toBe(line)
  expect(fitLine(line, 12)).toBe(`${color.name('scout')} ${color.faint('reads…')}`)
})
