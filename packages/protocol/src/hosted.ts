/** If this file exists, a hosted front end is in front of this machine; its content keys the session cookie. */
export const accessTokenPath = '/opt/flotilla/.access_token'

/** Marks a managed host. Without the access token beside it no user can be authenticated, so all are rejected. */
export const hostedMarkerPath = '/opt/flotilla/.subdomain'
