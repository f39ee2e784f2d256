import type { Oddity } from './oddity.ts'
import { callOddities } from './rows/calls.ts'
import { endOddities } from './rows/ends.ts'
import { errorOddities } from './rows/errors.ts'
import { framingOddities } from './rows/framing.ts'
import { furtherOddities } from './rows/further.ts'
import { inventedOddities } from './rows/invented.ts'
import { leftoverOddities } from './rows/leftovers.ts'
import { misplacedOddities } from './rows/misplaced.ts'
import { reportedAnswers } from './rows/reported-answers.ts'
import { reportedCalls } from './rows/reported-calls.ts'
import { reportedGateways } from './rows/reported-gateways.ts'
import { reportedEnds } from './rows/reported-ends.ts'
import { reportedShapes } from './rows/reported-shapes.ts'
import { repeatingOddities } from './rows/repeating.ts'
import { shapeOddities } from './rows/shapes.ts'
import { streamOddities } from './rows/streams.ts'
import { templateOddities } from './rows/templates.ts'

/** Deviations from the API that providers of chat completions are known to send. */
export const oddities: readonly Oddity[] = [
  ...streamOddities,
  ...callOddities,
  ...endOddities,
  ...errorOddities,
  ...furtherOddities,
  ...framingOddities,
  ...templateOddities,
  ...reportedCalls,
  ...reportedAnswers,
  ...reportedGateways,
  ...reportedEnds,
  ...reportedShapes,
  ...misplacedOddities,
  ...repeatingOddities,
  ...inventedOddities,
  ...shapeOddities,
  ...leftoverOddities,
]
