type ProtocolHandler = (request: Request) => Response | Promise<Response>;
type RequestHandler = (contents: unknown, permission: string, answer: (granted: boolean) => void) => void;
type CheckHandler = (contents: unknown, permission: string) => boolean;

class StandInProtocol {
  readonly handlers = new Map<string, ProtocolHandler>();
  readonly privileged: { scheme: string; privileges: Record<string, boolean> }[] = [];

  registerSchemesAsPrivileged(schemes: { scheme: string; privileges: Record<string, boolean> }[]): void {
    this.privileged.push(...schemes);
  }

  handle(scheme: string, handler: ProtocolHandler): void {
    this.handlers.set(scheme, handler);
  }
}

export const protocol = new StandInProtocol();

/** Keeps the handlers, so that a test can ask them as Chromium would. */
class StandInSession {
  readonly protocol = protocol;
  permissionRequestHandler: RequestHandler | null = null;
  permissionCheckHandler: CheckHandler | null = null;

  setPermissionRequestHandler(handler: RequestHandler): void {
    this.permissionRequestHandler = handler;
  }
  setPermissionCheckHandler(handler: CheckHandler): void {
    this.permissionCheckHandler = handler;
  }
  setDevicePermissionHandler(): void {}
}

export const session = { defaultSession: new StandInSession() };
