import { backupApi as api, backupEndpoints as endpoints } from '@flotilla/protocol/backup-api'
import type { PeopleSurface } from '@flotilla/identity/http'
import type { HomeBackups } from './home-backups.ts'

export function backupPeopleRoutes({ bind }: PeopleSurface, backups: HomeBackups): void {
  bind(endpoints.backups, api.backups, ({ caller }) => backups.view(caller))
  bind(endpoints.backupMake, api.backupMake, ({ caller, body }) => backups.make(caller, body.passphrase))
  bind(endpoints.backupVerify, api.backupVerify, ({ caller, params, body }) =>
    backups.verify(caller, params.name, body.passphrase),
  )
}
