// A short failover.
import { FAILOVER_SCENE } from './scenes/failover-scene.ts';
import { testScene } from './scenes/scene-tests.ts';

testScene('a hub under load, when its PostgreSQL fails over to a standby', FAILOVER_SCENE);
