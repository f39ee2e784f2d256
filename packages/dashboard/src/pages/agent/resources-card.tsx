import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { AgentUse } from '@flotilla/protocol/kept-api'
import { Card } from '../../design/parts.tsx'
import { HarnessPart } from './harness-part.tsx'
import { ImagePart } from './image-part.tsx'
import { Packages } from './packages-part.tsx'
import { SizePart } from './size-part.tsx'

/**
 * The size of an agent against its use in the last hour, the packages in its image, an image of the owner, and what
 * drives its runs.
 */
export function ResourcesCard({
  agent,
  use,
}: {
  readonly agent: AgentView
  readonly use: AgentUse | undefined
}) {
  return (
    <Card title="Size and packages">
      <div className="body stack">
        <SizePart agent={agent} use={use} />
        <Packages agentId={agent.id} />
        <HarnessPart agentId={agent.id} />
        <ImagePart agentId={agent.id} />
      </div>
    </Card>
  )
}
