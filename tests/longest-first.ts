import type { TestSpecification } from 'vitest/node'
import { BaseSequencer } from 'vitest/node'

/**
 * Test files that mostly wait for what an agent or a mesh does after minutes. They start first, so that the other
 * files run meanwhile and the run does not wait for one of them alone at its end.
 */
const longest: readonly string[] = [
  'tests/flows/guide.test.ts',
  'tests/flows/agent-stuck.test.ts',
  'tests/flows/crash.test.ts',
  'tests/flows/demo.test.ts',
  'tests/flows/readme.test.ts',
  'tests/flows/steer.test.ts',
  'tests/security/mesh-secret.test.ts',
  'tests/flows/cut-off-effects.test.ts',
  'tests/flows/process-orphans.test.ts',
  'tests/flows/heartbeat.test.ts',
  'tests/flows/channel-files.test.ts',
  'tests/docker/agent-takeover.test.ts',
  'tests/docker/data-limit.test.ts',
  'tests/docker/egress.test.ts',
  'tests/docker/agent-means.test.ts',
  'tests/docker/exhaustion.test.ts',
]

/** Sorts the files: those that take longest first, the others as the runner sorts them. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = await super.sort(files)
    const place = (file: TestSpecification) => {
      const found = longest.findIndex((one) => file.moduleId.endsWith(one))
      return found === -1 ? longest.length : found
    }
    return others.toSorted((left, right) => place(left) - place(right))
  }
}
