import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { modelsApi as api, modelsEndpoints as endpoints } from '@flotilla/protocol/models-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { WatchedModels } from './gateway/watched-models.ts'
import type { Recording } from './recording/recording.ts'

export function modelPeopleRoutes(
  { bind }: PeopleSurface,
  { watched, recording }: { readonly watched: WatchedModels; readonly recording: Recording },
): void {
  bind(endpoints.models, api.models, ({ caller }) => ({ models: watched(caller) }))
  bind(meshHumanEndpoints.recordingStart, meshHumanApi.recordingStart, ({ caller }) => {
    recording.start(caller)
    return { recording: true }
  })
  bind(meshHumanEndpoints.recordingStop, meshHumanApi.recordingStop, ({ caller }) => recording.stop(caller))
}
