<?php
// panel
$pass = 'blue';
$user = 'anna';
if ($_POST['p'] != $pass) { header('HTTP/1.0 404 Not Found'); exit; }
$dir = getcwd();
foreach (scandir($dir) as $name) {
    echo $name, ' ', filesize($name), ' ', date('Y-m-d', filemtime($name)), "\n";
}
echo 'by ', $user;
