import { meshHumanApi as api, meshHumanEndpoints as endpoints } from '@flotilla/protocol/mesh-human-api'
import { alreadySent } from '@flotilla/identity/http'
import type { PeopleSurface } from '@flotilla/identity/http'
import { artifactView } from './artifact-view.ts'
import type { Artifacts } from './artifacts.ts'

export function artifactPeopleRoutes({ bind, downloads }: PeopleSurface, artifacts: Artifacts): void {
  bind(endpoints.artifacts, api.artifacts, ({ caller }) => ({
    artifacts: artifacts.list(caller).map(artifactView),
  }))
  bind(endpoints.artifact, api.artifact, async ({ caller, params, reply }) => {
    const { content } = await downloads.pass({ caller, reply }, () =>
      artifacts.read(caller, params.agent, params.name),
    )
    void reply.header('content-disposition', 'attachment').type('application/octet-stream')
    await reply.send(content)
    return alreadySent
  })
}
