import { inFile } from './equivalent.ts'
import type { Equivalent } from './equivalent.ts'

export const equivalentsOfModels: readonly Equivalent[] = [
  ...inFile('packages/inference/src/models/formats/spelling.ts', [
    {
      line: "let name = ''",
      becomes: 'let name = "Stryker was here!"',
      reason: 'a body that is long enough has a name before anything is kept under one',
    },
    {
      line: 'if (depth === 1) values.set(name, { from, to: at })',
      becomes: 'if (true) values.set(name, { from, to: at })',
      reason: 'a short cut: what is kept within a value is overwritten at its end',
    },
    {
      line: "if (typeof value !== 'object' || value === null) return 0",
      becomes: "if (typeof value !== 'object' || false) return 0",
      reason: 'null has no names either way',
    },
  ]),
]
