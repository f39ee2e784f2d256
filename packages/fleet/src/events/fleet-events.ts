import {
  createAwaitedEvent,
  createDomainEvent,
  createNotice,
  createQuestion,
} from '@flotilla/foundation/events'
import type { AwaitedEvent, DomainEvent, Question } from '@flotilla/foundation/events'
import type { Log } from '@flotilla/foundation/platform'
import type { PackageList } from '@flotilla/protocol/agent-packages'
import type { TaskOutcome } from '@flotilla/protocol/task-actions'
import type { IdentityKernel } from '@flotilla/identity/events'

/** The result of work that an agent delivered. */
export interface WorkFeedback {
  /** Increases with every piece of feedback; the agent skips feedback that it has recorded already. */
  readonly position: number
  readonly taskId: string
  readonly title: string
  readonly outcome: TaskOutcome
  readonly comment: string
  readonly by: string
}

/**
 * A sandbox that ended while its agent worked, or that the mesh is about to end and whose tokens are revoked. The
 * interrupted work can be sent again.
 */
export interface SandboxGone {
  readonly agentId: string
  readonly reason: 'died' | 'stopped' | 'restarted' | 'deleted'
}

/** What the programs of an agent find in their container besides what every container has. */
export interface ProgramSetup {
  /** Values that name a file of `files` are its path in the container. */
  readonly environment: Readonly<Record<string, string>>
  /** Files in the folder of bootstrap files, by name. */
  readonly files: Readonly<Record<string, string>>
}

/** An agent that is about to be created; its row does not exist yet. */
interface PlannedAgent {
  readonly agentId: string
  /** The heartbeat schedule; null for no heartbeats; undefined for the default: a worker has no heartbeats. */
  readonly heartbeat: string | null | undefined
}

/**
 * The events that the fleet publishes about agents and their sandboxes, and the questions that it asks the contexts
 * above.
 */
export interface FleetEvents extends AgentEvents, AgentQuestions {}

interface AgentEvents {
  /**
   * Published before the agent's row is written, so that modules create files. `agentUnplanned` follows if the row
   * cannot be written.
   */
  readonly agentPlanned: AwaitedEvent<PlannedAgent>
  /** Published when the agent's row could not be written, also if no module had created anything for the agent. */
  readonly agentUnplanned: AwaitedEvent<string>
  /**
   * Published when a person opened a terminal in the agent's container, where they can change files and start runs.
   */
  readonly agentReached: DomainEvent<string>
  /** Published outside of transactions. A listener that throws is logged. */
  readonly sandboxGone: DomainEvent<SandboxGone>
  /**
   * Published before data of the agent is deleted. Rejects with the problem of a store that cannot delete its data
   * now.
   */
  readonly agentLeaving: AwaitedEvent<string>
  /** Published when no file contains data of the agent any more; published again if a deletion was interrupted. */
  readonly agentFilesDropped: AwaitedEvent<string>
  /** Published in the transaction that deletes the agent's row. */
  readonly agentDeleted: DomainEvent<string>
  /** Published in the transaction of the audit record: the agent is archived and can be restored. */
  readonly agentArchived: DomainEvent<string>
  /** A message about an agent that the owner must see, in the transaction of the change that it reports. */
  readonly ownerNoticed: DomainEvent<{ readonly agentId: string; readonly message: string }>
  /** An agent moved to another project, or to none, in the transaction of the change. */
  readonly membershipChanged: DomainEvent<{ readonly agentId: string; readonly project: string | null }>
}

interface AgentQuestions {
  /** Asked before an agent hibernates: reasons to keep the agent awake. Without a reason the agent hibernates. */
  readonly reasonsToStayAwake: Question<string, string>
  /** The capabilities that an agent declares. */
  readonly agentCapabilities: Question<string, string>
  /** For the bootstrap files: feedback on the agent's work, oldest first. */
  readonly feedbackFor: Question<string, WorkFeedback>
  /** For the bootstrap files: the content of PROJECT.md. */
  readonly projectTexts: Question<string, string>
  /** For the start of a container: what its programs need. A change takes effect before the agent's next run. */
  readonly programSetups: Question<string, ProgramSetup>
  /**
   * For the start of a container: packages in the agent's image, of the owner and of modules that need some. A change takes effect before the agent's next run.
   */
  readonly packageLists: Question<string, PackageList>
  /**
   * Reasons why the outbound filter would reject this address for that agent (null for any agent), and what would
   * allow it.
   */
  readonly outboundDoubts: Question<{ readonly url: URL; readonly agentId: string | null }, string>
}

/** What modules that use these events receive: the kernel, with the events of contexts below. */
export interface FleetKernel extends IdentityKernel {
  readonly fleetEvents: FleetEvents
}

export function createFleetEvents(log: Log): FleetEvents {
  return {
    agentPlanned: createAwaitedEvent(),
    agentUnplanned: createAwaitedEvent(),
    agentReached: createDomainEvent(),
    sandboxGone: createNotice((error, { agentId }) =>
      log.error(
        { agentId, err: error },
        'a module failed to process the loss of a sandbox; the other modules processed it',
      ),
    ),
    agentLeaving: createAwaitedEvent(),
    agentFilesDropped: createAwaitedEvent(),
    agentDeleted: createDomainEvent(),
    agentArchived: createDomainEvent(),
    ownerNoticed: createDomainEvent(),
    membershipChanged: createDomainEvent(),
    reasonsToStayAwake: createQuestion(),
    agentCapabilities: createQuestion(),
    feedbackFor: createQuestion(),
    projectTexts: createQuestion(),
    programSetups: createQuestion(),
    packageLists: createQuestion(),
    outboundDoubts: createQuestion(),
  }
}
