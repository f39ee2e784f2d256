import { expect, test } from 'vitest'
import { policyOf } from '../../../testing/src/policy-of.ts'
import { anAgentCaller } from '../../../testing/src/callers.ts'
import { createTakeTurn } from './take-turn.ts'
